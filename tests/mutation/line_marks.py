"""Marks in a shared file which lines of the product run, in every interpreter of a copy of the tree.

Coverage tools keep lines in memory until a process ends, so a process that is killed with -9 loses them. Here each
statement of the product is compiled with a store into a shared mapping of a file before it: `__ran__[place] = 1`. The
kernel keeps the stored byte, however the process ends. Forked processes have the mapping; new interpreters map the same
file. A place is a line of a file, counted through all files.

This module imports nothing of the tree: a copy has it in its site-packages, and a `.pth` file there calls `install`.
"""

from __future__ import annotations

import ast
import builtins
import json
import mmap
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import SourceFileLoader
from pathlib import Path
from typing import Any

LAYOUT, RAN = "layout.json", "ran"  # files in the folder of marks
_RAN = re.compile(rb"\x01")


class Marks:
    """The mapping of a folder of marks. `first`: the place of line 0 of each file."""

    def __init__(self, folder: Path) -> None:
        self.layout: dict[str, int] = json.loads((folder / LAYOUT).read_text())  # lines by file
        self.first: dict[str, int] = {}
        places = 0
        for file, lines in self.layout.items():
            self.first[file] = places
            places += lines + 1
        with (folder / RAN).open("r+b") as file:
            self.ran = mmap.mmap(file.fileno(), places)

    def take(self) -> set[int]:
        """The places that have run since the last call. Only these are cleared: a mark that another process makes
        meanwhile stays for the next call."""
        ran = {match.start() for match in _RAN.finditer(self.ran[:])}
        for place in ran:
            self.ran[place] = 0
        return ran


def lay_out(folder: Path, files: Mapping[str, str]) -> None:
    """Make the folder of marks for these texts by name of file."""
    folder.mkdir(parents=True)
    layout = {file: text.count("\n") + 1 for file, text in files.items()}
    (folder / LAYOUT).write_text(json.dumps(layout))
    with (folder / RAN).open("wb") as file:
        file.truncate(sum(layout.values()) + len(layout))
    (folder / RAN).chmod(0o666)  # some tests start processes of other users


def install(root: str, folder: str) -> None:
    """From now on this interpreter compiles the product's files below `root` with marks."""
    if hasattr(builtins, "__ran__"):
        return  # an interpreter may read a .pth file twice
    marks = Marks(Path(folder))
    builtins.__ran__ = marks.ran  # type: ignore[attr-defined] # a name that all modules see
    plain = SourceFileLoader.source_to_code

    def marked(self: SourceFileLoader, data: Any, path: Any, **options: Any) -> Any:
        file = str(path).removeprefix(f"{root}/")
        if file in marks.first and isinstance(data, bytes):
            data = with_marks(ast.parse(data, path), marks.first[file])
        return plain(self, data, path, **options)

    SourceFileLoader.source_to_code = marked  # type: ignore[method-assign,assignment]


def with_marks(module: ast.Module, first: int) -> ast.Module:
    """The module with a store before each statement, on the statement's own line."""
    for node in [*ast.walk(module)]:
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                setattr(node, field, [*_marked(node, value, first)])
    return module


def _marked(node: ast.AST, body: Sequence[ast.stmt], first: int) -> Iterator[ast.stmt]:
    for number, statement in enumerate(body):
        if not (number == 0 and _is_text(node, statement)) and not _is_future(statement):
            yield _mark(statement, first)
        yield statement


def _is_text(node: ast.AST, statement: ast.stmt) -> bool:
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    return documented and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_future(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.ImportFrom) and statement.module == "__future__"


def _mark(statement: ast.stmt, first: int) -> ast.stmt:
    target = ast.Subscript(ast.Name("__ran__", ast.Load()), ast.Constant(first + statement.lineno), ast.Store())
    mark = ast.Assign([target], ast.Constant(1))
    for node in ast.walk(mark):
        ast.copy_location(node, statement)
        node.end_lineno = statement.lineno  # type: ignore[attr-defined] # of a node with a place
        node.end_col_offset = statement.col_offset  # type: ignore[attr-defined]
    return mark
