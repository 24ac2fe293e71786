"""One removed condition: a rule or a duty of the code without which a promise would not hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Rule:
    """`old` stands exactly once in `file`; with `new` in its place the rule is gone, and `test` must notice."""

    name: str
    file: str
    old: str
    new: str
    test: str

    def found(self, root: Path = ROOT) -> int:
        """How many times the text of this rule stands in its file."""
        path = root / self.file
        return path.read_text().count(self.old) if path.exists() else 0

    def remove(self, root: Path) -> None:
        """Take the rule out of this copy of the tree."""
        path = root / self.file
        path.write_text(path.read_text().replace(self.old, self.new))
