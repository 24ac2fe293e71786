"""Builds the Lua operations from their files. Each is called by its SHA, and loaded again if the server has lost it.

An operation names the shared parts that it needs in a `-- use:` line, and its script flags in a `-- flags:` line. A
part may need other parts, and lists in a `-- provides:` line the names that others use. A part is included once, in the
order of first need. Functions and constants that the script does not use are left out, because each costs time in every
call.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from holdfast.store.redis.keys import KEY_NAMES

_USE = re.compile(r"^-- use: (.*)$", re.MULTILINE)
_BEFORE = re.compile(r"^-- before: (\w+)$", re.MULTILINE)
_FLAGS = re.compile(r"^-- flags:(.*)$", re.MULTILINE)
_COMMENT = re.compile(r"^\s*--.*\n", re.MULTILINE)
_STATEMENT = re.compile(  # of a part's top level, each without a call: a function, a constant, a variable
    r"^local function (?P<function>\w+)\((?:[^\n]* end\n|.*?^end\n)"
    r"|^local (?P<value>\w+)(?: = [^(\n]*?)?(?: +--[^\n]*)?\n",
    re.MULTILINE | re.DOTALL,
)
_KEY = re.compile(r"\bKEY\.(\w+)")
_NAME = re.compile(r"\bNAME\.(\w+)")
_WORD = re.compile(r"\w+")
_STRING = re.compile(r"'[^'\n]*'")
_LOCAL = re.compile(r"^local (?:function )?(\w+(?:, \w+)*)", re.MULTILINE)
_CARRY_OUT = re.compile(r"^local function carry_out\(", re.MULTILINE)
_NAMES = 60  # the most names from outside that a function of Lua 5.1 may use


@dataclass(frozen=True, slots=True)
class Script:
    """A Lua operation. `kept`: its source, compressed if `is_packed` is set."""

    name: str
    kept: bytes
    sha: str
    is_packed: bool = False

    @property
    def source(self) -> bytes:
        return zlib.decompress(self.kept) if self.is_packed else self.kept

    def packed(self) -> Script:
        """The script in less memory. Its source is needed only when a server has lost it."""
        return self if self.is_packed else replace(self, kept=zlib.compress(self.kept, 1), is_packed=True)


@cache
def _files(*, shared: bool) -> Mapping[str, Traversable]:
    """The files of the shared parts, or the files of the operations, by name. No two files have the same name."""
    folders = [folder for folder in files("holdfast.store").joinpath("lua").iterdir() if folder.is_dir()]
    entries = (entry for folder in folders if (folder.name == "shared") == shared for entry in folder.iterdir())
    return {entry.name.removesuffix(".lua"): entry for entry in entries if entry.name.endswith(".lua")}


def operations() -> list[str]:
    """The names of all operations, in order."""
    return sorted(_files(shared=False))


def shared_parts() -> list[str]:
    """The names of all shared parts, in order."""
    return sorted(_files(shared=True))


@cache
def text(name: str) -> str:
    """The Lua source of an operation or of a shared part, by its name."""
    file = _files(shared=False).get(name) or _files(shared=True)[name]
    return file.read_text("utf-8")


@cache
def _used(source: str) -> Sequence[str]:
    use = _USE.search(source)
    return use[1].split() if use else ()


def _parts(source: str, taken: dict[str, str], replaced: Mapping[str, str]) -> Iterator[str]:
    for name in _used(source):
        if name in taken:
            continue
        part = taken[name] = replaced.get(name) or text(name)
        yield from _parts(part, taken, replaced)
        yield part


def build(name: str, replaced: Mapping[str, str] | None = None, before: str = "") -> Script:
    """The script of one operation. `replaced`: other text for shared parts (a test's clock) or for the operation.
    `before`: a shared part that may answer in the operation's place. If this part has a function `carry_out`, that
    function calls the operation."""
    return _build(name, frozenset((replaced or {}).items()), before)


@lru_cache(maxsize=1024)  # more than there are operations, and less than the memory that tests can spare
def _build(name: str, items: frozenset[tuple[str, str]], before: str) -> Script:
    replaced = dict(items)
    body = replaced.get(name) or text(name)
    usual = _BEFORE.search(body)
    guards = [*filter(None, [before, usual[1] if usual else ""])]
    taken: dict[str, str] = {}
    shared = [
        part for each in (*(f"-- use: {guard}\n" for guard in guards), body) for part in _parts(each, taken, replaced)
    ]
    parts = [replaced.get("base") or text("base"), *shared]
    flags = _FLAGS.search(body)
    if any(guard in taken and _CARRY_OUT.search(taken[guard]) for guard in guards):
        body = f"return carry_out(function()\n{body}\nend)"
    shebang = f"#!lua flags={flags[1].strip().replace(' ', '')}" if flags and flags[1].strip() else "#!lua"
    body = _plain(body)
    needed = _mentioned(parts, body)
    if usual:
        needed = _deferred(needed, parts, parts.index(taken[usual[1]]))
    source = "\n".join([shebang, *_nested([*filter(None, map("".join, needed))], body)]).encode()
    return Script(name, source, hashlib.sha1(source, usedforsecurity=False).hexdigest())


@cache
def _words(source: str) -> frozenset[str]:
    return frozenset(_WORD.findall(_STRING.sub("", source)))


@cache
def _locals(source: str) -> frozenset[str]:
    return frozenset(name for found in _LOCAL.findall(source) for name in found.split(", "))


def _plain(source: str) -> str:
    """Lua without comments, and with the names of keys in their places."""
    named = _NAME.sub(lambda found: f"'{KEY_NAMES[found[1]]}'", _COMMENT.sub("", source))
    return _KEY.sub(lambda found: f"T .. '{KEY_NAMES[found[1]]}'", named)


@cache
def _statements(part: str) -> Sequence[tuple[str, str, frozenset[str]]]:
    """The statements of a part, the last one first. Each has the name that it defines ('': the statement must stay),
    its text, and its words."""
    part, found = _plain(part), list[tuple[str, str]]()
    end = len(part)
    for statement in reversed(list(_STATEMENT.finditer(part))):
        found.append(("", part[statement.end() : end]))
        found.append((statement["function"] or statement["value"], statement[0]))
        end = statement.start()
    found.append(("", part[:end]))
    return [(name, text, _words(text)) for name, text in found if text.strip()]


def _mentioned(parts: Sequence[str], body: str) -> list[list[str]]:
    """The statements of each part that the script needs. A definition that no later statement uses is left out."""
    words, kept = set(_words(body)), list[list[str]]()
    for part in reversed(parts):
        statements = list[str]()
        for name, statement, mentions in _statements(part):
            if not name or name in words:
                words.update(mentions)
                statements.append(statement)
        kept.append(statements[::-1])
    return kept[::-1]


def _deferred(kept: Sequence[list[str]], parts: Sequence[str], guard: int) -> list[list[str]]:
    """The statements in another order: statements that the guard does not need come after the guard's."""
    needed = _mentioned(parts[:guard], _plain(parts[guard]))
    early, late = list[list[str]](), list[list[str]]()
    for statements, wanted in zip(kept[:guard], needed, strict=True):
        early.append([statement for statement in statements if statement in wanted])
        late.append([statement for statement in statements if statement not in wanted])
    return [*early, kept[guard], *late, *kept[guard + 1 :]]


def _nested(parts: Sequence[str], body: str) -> Iterator[str]:
    """Wrap parts in functions around the rest of the script, unless a name would then be unknown where it is used.
    Every call of a script creates its functions again. For each local that a function uses, the server searches all
    locals used before; for a name from further outside it only copies a reference."""
    last_mention = {word: place for place, each in enumerate((*parts, body)) for word in _words(each)}
    outside: set[str] = set()
    levels = 0
    for place, part in enumerate(parts, 1):
        outside |= _locals(part)
        yield part
        if sum(last_mention.get(name, 0) >= place for name in outside) <= _NAMES:
            levels += 1
            yield "return (function()"
    yield body
    yield "end)()" * levels


class Scripts(dict[str, Script]):
    """The operations by name, each built when it is first used, because building all of them takes longer than most
    commands. `replaced`: other text for parts of them."""

    def __init__(self, replaced: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self._replaced = replaced

    def __missing__(self, name: str) -> Script:
        built = self[name] = build(name, self._replaced)
        return built


SHIPPED = Scripts()


def product() -> Mapping[str, Script]:
    """All operations, as workers use them. The parent calls this once before it forks children, so that the children
    share the memory of the texts, which are compressed: 0.8 MB instead of 2.4 MB."""
    if missing := [name for name in operations() if name not in SHIPPED or not SHIPPED[name].is_packed]:
        for name in missing:
            SHIPPED[name] = SHIPPED[name].packed()
        for made in (text, _used, _build, _words, _locals, _statements):
            made.cache_clear()  # twice as large as all operations
    return SHIPPED
