"""The judging functions of the doctor do no I/O: none of them, nor a function that it calls, uses what could."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import holdfastd.doctor

FOLDER = Path(holdfastd.doctor.__file__).parent
IMPURE = frozenset({
    "anyio", "asyncio", "os", "psutil", "redis", "resource", "select", "shutil", "signal", "socket", "subprocess",
    "sys", "threading", "time", "open", "open_store", "ask", "asked", "bounded", "look",
})  # fmt: skip


def functions(module: Path) -> dict[str, ast.AST]:
    tree = ast.parse(module.read_text())
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


def names(node: ast.AST) -> set[str]:
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def reached(module: Path) -> Iterator[tuple[str, ast.AST]]:
    """The judging functions of a module, and the functions there that they call."""
    known = functions(module)
    todo = [name for name in known if name.startswith(("judge", "_judge"))]
    seen: set[str] = set()
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            yield name, known[name]
            todo += names(known[name]) & known.keys()


def test_judging_does_no_io() -> None:
    judging = [(module.stem, name, node) for module in sorted(FOLDER.glob("*.py")) for name, node in reached(module)]
    assert {module for module, name, _ in judging if name == "judge"} >= {
        "folders",
        "handler_import",
        "postgres_server",
        "store_checks",
    }
    assert [(module, name) for module, name, node in judging if names(node) & IMPURE] == []
