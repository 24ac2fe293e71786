"""One removed condition: a rule or a duty of the code without which a promise would not hold."""

from __future__ import annotations

import io
import re
import textwrap
import tokenize
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate, zip_longest
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("config", "workers", "supervisor")
TOKEN = re.compile(r"\w+|[^\w\s]")
CLOSING = frozenset(")]}")


@dataclass(frozen=True, slots=True)
class Rule:
    """The tokens of `old` stand exactly once in the packages; with `new` in their place the rule is gone, and `test`
    must notice.

    A rule names no file, and it says nothing of indentation, line breaks, comments or a comma before a bracket: it may
    move. Where other code has the same tokens, `old` takes in a neighbour.
    """

    name: str
    old: str
    new: str
    test: str

    @property
    def file(self) -> str:
        """The file of this rule, from the root of the tree."""
        return self._place().source.file

    def removed(self) -> str:
        """The text of its file without the rule."""
        return self._place().replaced(self.old, self.new)

    def _place(self) -> Place:
        places = _places(self.old)
        match places:
            case (place,):
                return place
            case ():
                raise LookupError(f"rule {self.name!r}: {self.old!r} stands nowhere: write it as the code has it now")
            case _:
                many = ", ".join(sorted({place.source.file for place in places})[:5])
                raise LookupError(f"rule {self.name!r}: {self.old!r} stands in {many}: take in a neighbour")


@dataclass(frozen=True, slots=True)
class Token:
    word: str
    start: int
    end: int


@dataclass(frozen=True)
class Source:
    """A file of the packages, `file` from the root of the tree."""

    file: str
    text: str

    @cached_property
    def tokens(self) -> list[Token]:
        return tokens_of(_without_comments(self.file, self.text))

    @cached_property
    def words(self) -> str:
        return _joined(self.tokens)

    @cached_property
    def starts(self) -> list[int]:
        """Where in `words` each token begins."""
        return list(accumulate((len(token.word) + 1 for token in self.tokens), initial=0))

    def find(self, old: list[Token]) -> Iterator[Place]:
        wanted, at = _joined(old), 0
        while (at := self.words.find(wanted, at)) >= 0:
            first = bisect_left(self.starts, at)
            yield Place(self, self.tokens[first].start, self.tokens[first + len(old) - 1].end)
            at += 1


@dataclass(frozen=True, slots=True)
class Place:
    """Where the tokens of a rule stand in the text of a file."""

    source: Source
    start: int
    end: int

    def replaced(self, old: str, new: str) -> str:
        """`new` in their place, its lines indented against `old` as they are written."""
        text = self.source.text
        line = text[text.rfind("\n", 0, self.start) + 1 :]
        shift = " " * (_indentation(line) - _indentation(old))
        return text[: self.start] + textwrap.indent(new, shift).strip() + text[self.end :]


def _indentation(text: str) -> int:
    return len(text) - len(text.lstrip())


@cache
def _places(old: str) -> tuple[Place, ...]:
    tokens = tokens_of(old)
    return tuple(place for source in _sources() for place in source.find(tokens))


@cache
def _sources() -> list[Source]:
    """The files of Python and Lua in the packages."""
    found = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*")))
    return [Source(path.relative_to(ROOT).as_posix(), path.read_text()) for path in found if path.suffix in _COMMENTS]


def tokens_of(text: str) -> list[Token]:
    """Words and signs, but for a comma that stands before a closing bracket: a line break may bring it."""
    found = [Token(match[0], *match.span()) for match in TOKEN.finditer(text)]
    return [
        token
        for token, after in zip_longest(found, found[1:])
        if token.word != "," or after is None or after.word not in CLOSING
    ]


def _joined(tokens: list[Token]) -> str:
    return "\0" + "".join(f"{token.word}\0" for token in tokens)


def _without_comments(file: str, text: str) -> str:
    """The text with blanks in the place of each comment: all else stays where it was."""
    kept, at = list[str](), 0
    for start, end in _COMMENTS[Path(file).suffix](text):
        kept += text[at:start], " " * (end - start)
        at = end
    return "".join(kept) + text[at:]


def _python_comments(text: str) -> Iterator[tuple[int, int]]:
    starts = [0, *accumulate(map(len, text.splitlines(keepends=True)))]
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield starts[token.start[0] - 1] + token.start[1], starts[token.end[0] - 1] + token.end[1]


def _lua_comments(text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in re.finditer(r"--[^\n]*", text))


_COMMENTS = {".py": _python_comments, ".lua": _lua_comments}
