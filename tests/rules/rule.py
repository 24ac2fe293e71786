"""One removed condition: a rule or a duty of the code without which a promise would not hold."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("config", "workers", "supervisor")


@dataclass(frozen=True, slots=True)
class Rule:
    """`old` stands exactly once in the packages; with `new` in its place the rule is gone, and `test` must notice.

    A rule names no file: it may move. Where other code has the same words, `old` takes in a neighbouring line.
    """

    name: str
    old: str
    new: str
    test: str

    @property
    def file(self) -> str:
        """The file of this rule, from the root of the tree."""
        places = [file for file, text in _sources().items() for _ in range(text.count(self.old))]
        match places:
            case [file]:
                return file
            case []:
                raise LookupError(f"rule {self.name!r}: {self.old!r} stands nowhere: write it as the code has it now")
            case _:
                many = ", ".join(places)
                raise LookupError(f"rule {self.name!r}: {self.old!r} stands in {many}: take in a line beside it")

    def removed(self) -> str:
        """The text of its file without the rule."""
        return _sources()[self.file].replace(self.old, self.new)


@cache
def _sources() -> dict[str, str]:
    """The text of each file of Python and Lua in the packages."""
    found = (path for package in PACKAGES for path in sorted((ROOT / package).rglob("*")))
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in found if path.suffix in {".py", ".lua"}}
