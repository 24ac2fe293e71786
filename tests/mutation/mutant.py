"""One change of one place of the product."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

_BLANK = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Change:
    """`new` in the place of the bytes from `start` to `end`."""

    start: int
    end: int
    new: bytes

    def made(self, text: bytes) -> bytes:
        return text[: self.start] + self.new + text[self.end :]


@dataclass(frozen=True, slots=True)
class Mutant:
    """`line`: where its statement begins. `where`: the function around it. `bound`: the names that the statement binds
    when its module is imported; None for a statement that runs later. `key` names the mutant in any version of the file
    that has the lines before and after the change: no line number is in it."""

    file: str
    line: int
    where: str
    operator: str
    change: Change
    bound: tuple[str, ...] | None = None
    key: str = ""


def with_keys(text: bytes, mutants: Iterable[Mutant]) -> list[Mutant]:
    seen = Counter[str]()
    keyed: list[Mutant] = []
    for mutant in mutants:
        before, after = _lines(text, mutant.change)
        key = f"{mutant.file} {mutant.where}: {before} => {after}"
        seen[key] += 1
        keyed.append(replace(mutant, key=key if seen[key] == 1 else f"{key} ({seen[key]})"))
    return keyed


def _lines(text: bytes, change: Change) -> tuple[str, str]:
    """The touched lines before and after the change."""
    first = text.rfind(b"\n", 0, change.start) + 1
    last = text.find(b"\n", change.end)
    last = len(text) if last < 0 else last
    after = text[first : change.start] + change.new + text[change.end : last]
    return _one_line(text[first:last]), _one_line(after)


def _one_line(text: bytes) -> str:
    return _BLANK.sub(" ", text.decode()).strip()
