"""No test depends on luck: on how fast a machine is, or on who comes first.

A line that may look as if it did says in a comment why it does not.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SHORTEST = 20.0  # seconds that an event may take on a busy machine
NEVER = 30.0  # seconds: a sleep of this length is ended by what the test is about
CLOCKS = {"time", "asyncio", "anyio"}
LIMITS = {"fail_after", "timeout", "wait_for"}

Rule = Callable[[ast.AST, bool], bool]


@cache
def trees() -> list[tuple[Path, list[str], ast.Module]]:
    """The tests that name a clock's function."""
    texts = [(path, path.read_text()) for path in sorted((ROOT / "tests").rglob("*.py"))]
    return [
        (path, text.splitlines(), ast.parse(text))
        for path, text in texts
        if any(f".{name}(" in text for name in ("sleep", *LIMITS))
    ]


def nodes(parent: ast.AST, in_loop: bool = False) -> Iterator[tuple[ast.AST, bool]]:
    """All nodes below, and whether each is in a loop of its function that waits for something."""
    for node in ast.iter_child_nodes(parent):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        here = not is_function and (in_loop or isinstance(node, ast.While))
        yield node, here
        yield from nodes(node, here)


def breaches(rule: Rule, pattern: str) -> list[str]:
    """The lines without a comment to which the rule objects."""
    return [
        f"{path.relative_to(ROOT)}:{node.lineno}: {lines[node.lineno - 1].strip()}"
        for path, lines, tree in trees()
        if path.match(pattern)
        for node, in_loop in nodes(tree)
        if rule(node, in_loop) and isinstance(node, ast.expr) and "#" not in lines[node.lineno - 1]
    ]


def called(node: ast.AST) -> tuple[str, str, float | None]:
    """Module, function and first argument of a call of a clock."""
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Name(id=module), attr=name), args=[first, *_]) if module in CLOCKS:
            is_number = isinstance(first, ast.Constant) and isinstance(first.value, int | float)
            return module, name, float(first.value) if is_number else None
        case _:
            return "", "", None


def is_short(node: ast.AST, in_loop: bool) -> bool:
    """A time within which something must have happened."""
    _, name, seconds = called(node)
    return name in LIMITS and seconds is not None and seconds < SHORTEST


def is_real(node: ast.AST, in_loop: bool) -> bool:
    """A pause that no event ends. A loop that looks for an event may pause between two looks."""
    _, name, seconds = called(node)
    return name == "sleep" and not in_loop and not (seconds is not None and (seconds == 0 or seconds >= NEVER))


@pytest.mark.parametrize(("rule", "pattern"), [(is_short, "*.py"), (is_real, "test_*.py")])
def test_a_line_that_may_depend_on_luck_says_why_it_does_not(rule: Rule, pattern: str) -> None:
    assert breaches(rule, pattern) == []


@pytest.mark.parametrize(
    ("text", "rule", "found"),
    [
        ("anyio.fail_after(5)", is_short, True),
        ("anyio.fail_after(30)", is_short, False),
        ("asyncio.timeout(0.5)", is_short, True),
        ("anyio.sleep(0.1)", is_real, True),
        ("anyio.sleep(PAUSE)", is_real, True),
        ("anyio.sleep(0)", is_real, False),
        ("time.sleep(600)", is_real, False),
        ("while not there():\n    time.sleep(0.1)", is_real, False),
        ("while True:\n    async def f(): await anyio.sleep(0.1)", is_real, True),
    ],
)
def test_the_rules_see_what_they_are_about(text: str, rule: Rule, found: bool) -> None:
    assert any(rule(node, in_loop) for node, in_loop in nodes(ast.parse(text))) == found
