"""Measures of the Python files of the three packages: lines of code, imports, classes, readers."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

PACKAGES = ("config", "workers", "supervisor")
Documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
LAZY = {"__getattr__", "__dir__"}  # functions of an `__init__` that import a name when it is asked for


@dataclass(frozen=True)
class PythonFile:
    """`name` is the file's module, `place` its path from the root of the tree."""

    name: str
    place: str
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def is_init(self) -> bool:
        return self.place.endswith("/__init__.py")

    @property
    def base(self) -> str:
        return self.place.rpartition("/")[2]

    @property
    def folder(self) -> str:
        return self.place.rpartition("/")[0]

    @property
    def lines(self) -> int:
        return self.text.count("\n")

    @cached_property
    def code(self) -> set[int]:
        """The numbers of the lines that are neither blank nor a comment nor part of a docstring."""
        lines = enumerate(self.text.splitlines(), 1)
        written = {number for number, line in lines if line.strip() and not line.lstrip().startswith("#")}
        docstrings = (
            node.body[0] for node in ast.walk(self.tree) if isinstance(node, Documented) and _has_docstring(node)
        )
        return written.difference(*(range(text.lineno, _end(text) + 1) for text in docstrings))

    @cached_property
    def imports(self) -> list[ast.Import | ast.ImportFrom]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.Import | ast.ImportFrom)]

    @property
    def import_lines(self) -> int:
        return len({line for node in self.imports for line in range(node.lineno, _end(node) + 1)} & self.code)

    @property
    def is_relative(self) -> bool:
        return any(isinstance(node, ast.ImportFrom) and node.level for node in self.imports)

    @property
    def public_classes(self) -> list[str]:
        named = [node.name for node in self.tree.body if isinstance(node, ast.ClassDef)]
        return [name for name in named if not name.startswith("_")]

    def read(self, known: set[str]) -> set[str]:
        """The modules among `known` that this file imports, at its head or later."""
        return {name for name in self._imported(known) if name in known} - {self.name}

    def _imported(self, known: set[str]) -> Iterator[str]:
        for node in self.imports:
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            else:
                inner = (f"{node.module}.{alias.name}" for alias in node.names)
                yield from (name if name in known else str(node.module) for name in inner)

    @property
    def own_code(self) -> list[str]:
        """The names of what an `__init__` holds beside imports, their names and their lazy import."""
        return [_words(node) for node in self.tree.body if not _is_reexport(node)]


class PythonFiles:
    """All Python files of the packages below `root`."""

    def __init__(self, root: Path) -> None:
        self.all = [_file(root, path) for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]
        self.files = [file for file in self.all if not file.is_init]

    @property
    def code(self) -> int:
        return sum(len(file.code) for file in self.all)

    @property
    def import_lines(self) -> int:
        return sum(file.import_lines for file in self.all)

    def above(self, lines: int) -> list[str]:
        return [f"{file.place} ({file.lines} lines)" for file in self.files if file.lines > lines]

    @property
    def parts_of_a_neighbour(self) -> list[str]:
        """Files that one file of the same folder imports, and no other."""
        known = {file.name for file in self.all}
        readers: dict[str, list[PythonFile]] = {name: [] for name in known}
        for file in self.all:
            for name in file.read(known):
                readers[name].append(file)
        alone = ((file, readers[file.name][0]) for file in self.files if len(readers[file.name]) == 1)
        near = [(file, reader) for file, reader in alone if not reader.is_init and reader.folder == file.folder]
        return [f"{file.place} (read by {reader.base} alone)" for file, reader in near]

    @property
    def of_shared_name(self) -> list[str]:
        count = Counter(file.base for file in self.files)
        return [file.place for file in sorted(self.files, key=lambda file: file.base) if count[file.base] > 1]

    @property
    def classes_named_twice(self) -> set[str]:
        count = Counter(name for file in self.all for name in file.public_classes)
        return {name for name, times in count.items() if times > 1}


def _file(root: Path, path: Path) -> PythonFile:
    place = path.relative_to(root)
    parts = place.with_suffix("").parts[1:]
    return PythonFile(".".join(parts[:-1] if parts[-1] == "__init__" else parts), place.as_posix(), path.read_text())


def _has_docstring(node: Documented) -> bool:
    match node.body:
        case [ast.Expr(value=ast.Constant(value=str())), *_]:
            return True
        case _:
            return False


def _end(node: ast.stmt) -> int:
    return node.end_lineno or node.lineno


def _is_reexport(node: ast.stmt) -> bool:
    match node:
        case ast.Import() | ast.ImportFrom() | ast.Expr(value=ast.Constant()):
            return True
        case ast.If(body=body) | ast.Try(body=body):  # for type checkers alone, or where an extra may be missing
            return all(_is_reexport(inner) for inner in body)
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name == "__all__" or name.startswith("_")
        case ast.FunctionDef(name=name):
            return name in LAZY
        case _:
            return False


def _words(node: ast.stmt) -> str:
    return ast.unparse(node).splitlines()[0]
