"""Which lines depend on a statement that runs when its module is imported: the lines of functions that read its names.

Such a statement runs once a process, long before the tests that depend on it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import cache

from tests.mutation.areas import ROOT, product_files
from tests.mutation.lua_operators import beginnings
from tests.mutation.mutant import Mutant
from tests.mutation.record import Line

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(slots=True)
class _Readers:
    """By name: the lines of functions that read it, and the names of modules and classes that are made of it."""

    lines: dict[str, set[Line]] = field(default_factory=lambda: defaultdict(set))
    names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    of_file: dict[str, set[Line]] = field(default_factory=lambda: defaultdict(set))


def lines_of(mutant: Mutant) -> Collection[Line]:
    """The lines one of which a test must run to notice the mutant."""
    if mutant.bound is None:
        return [(mutant.file, mutant.line)]
    if mutant.file.endswith(".lua"):
        return _lua_lines(mutant.bound[0])
    readers, found = _python_readers(), set[Line]()
    wanted, met = [*mutant.bound], set[str]()
    while wanted:
        name = wanted.pop()
        if name not in met:
            met.add(name)
            found |= readers.lines.get(name, set())
            wanted += readers.names.get(name, ())
    return found or readers.of_file.get(mutant.file, set())


@cache
def _python_readers() -> _Readers:
    readers = _Readers()
    for file in product_files():
        if file.endswith(".py"):
            for statement in ast.parse((ROOT / file).read_bytes()).body:
                _read(readers, file, statement, ())
    return readers


def _read(readers: _Readers, file: str, statement: ast.stmt, classes: tuple[str, ...]) -> None:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            for inner in ast.walk(statement):
                if isinstance(inner, ast.stmt) and inner is not statement:
                    readers.of_file[file].add((file, inner.lineno))
                    for name in _read_names(inner):
                        readers.lines[name].add((file, inner.lineno))
        case ast.ClassDef():
            for inner in statement.body:
                _read(readers, file, inner, (*classes, statement.name))
        case _:
            bound = {
                name.id
                for name in ast.walk(statement)
                if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
            }
            for name in _read_names(statement):
                readers.names[name] |= bound or set(classes)


def _read_names(statement: ast.stmt) -> Iterator[str]:
    """Those of the statement itself, without the statements inside it."""
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.Name(id=name) if isinstance(node.ctx, ast.Load):
                yield name
            case ast.Attribute(attr=name) if isinstance(node.ctx, ast.Load):
                yield name
            case ast.MatchClass(kwd_attrs=names):
                yield from names
        waiting += (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt))


def _lua_lines(name: str) -> Collection[Line]:
    word = re.compile(rb"\b%s\b" % name.encode())
    found = set[Line]()
    for file in product_files():
        if file.endswith(".lua"):
            text = (ROOT / file).read_bytes()
            lines = text.splitlines()
            found |= {(file, line) for line in beginnings(file, text) if word.search(lines[line - 1])}
    return found
