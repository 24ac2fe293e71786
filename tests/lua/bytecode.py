"""The names that a Lua chunk defines, reads and sets, as Lua 5.1 compiles it."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from struct import unpack_from
from typing import Any

_GET_GLOBAL, _SET_GLOBAL = 5, 7
_HEADER = 12  # bytes


@dataclass(frozen=True, slots=True)
class Names:
    """`defined`: the locals of the chunk's top level. `read` and `set`: names that the chunk itself does not define."""

    defined: frozenset[str]
    read: frozenset[str]
    set: frozenset[str]


def names(source: str) -> Names:
    """The names of this chunk; raises where it is no Lua."""
    lua: Any = importlib.import_module("lupa.lua51").LuaRuntime(encoding=None)
    compiled: bytes = lua.eval(b"function(source) return string.dump(assert(loadstring(source))) end")(source.encode())
    chunk = _Reader(compiled)
    chunk.function()
    return Names(frozenset(chunk.defined), frozenset(chunk.read), frozenset(chunk.written))


class _Reader:
    """Reads a dumped chunk from its beginning to its end."""

    def __init__(self, compiled: bytes) -> None:
        self._bytes, self._at = compiled, _HEADER
        self.defined, self.read, self.written = set[str](), set[str](), set[str]()

    def function(self, depth: int = 0) -> None:
        self._text()
        self._skip(4 + 4 + 4)  # its first and last line; upvalues, parameters, variable arguments, registers
        code = list(self._numbers())
        constants = [self._constant() for _ in range(self._number())]
        for instruction in code:
            self._use(instruction & 0x3F, constants[instruction >> 14] if (instruction >> 14) < len(constants) else "")
        for _ in range(self._number()):
            self.function(depth + 1)
        list(self._numbers())  # the line of each instruction
        for _ in range(self._number()):
            name, _, ends = self._text(), self._number(), self._number()
            if not depth and ends == len(code) - 1 and not name.startswith("("):
                self.defined.add(name)
        for _ in range(self._number()):
            self._text()  # the name of an upvalue

    def _use(self, operation: int, name: str) -> None:
        if operation == _GET_GLOBAL:
            self.read.add(name)
        elif operation == _SET_GLOBAL:
            self.written.add(name)

    def _constant(self) -> str:
        kind = self._bytes[self._at]
        self._at += 1
        if kind == 4:
            return self._text()
        self._skip({0: 0, 1: 1, 3: 8}[kind])
        return ""

    def _numbers(self) -> Iterator[int]:
        for _ in range(self._number()):
            yield self._number()

    def _number(self) -> int:
        (found,) = unpack_from("<I", self._bytes, self._at)
        self._at += 4
        return int(found)

    def _text(self) -> str:
        (length,) = unpack_from("<Q", self._bytes, self._at)
        self._at += 8 + length
        return self._bytes[self._at - length : self._at - 1].decode("latin-1") if length else ""

    def _skip(self, length: int) -> None:
        self._at += length
