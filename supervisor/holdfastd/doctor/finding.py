"""A finding: what was looked at, what was seen there, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad it is. A note is worth knowing; a problem keeps tasks from running, or may lose them."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """`subject` and `look` say at what was looked; `fix` is one line, empty where nothing is to be done."""

    level: Level
    subject: str
    look: str
    found: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """What was looked at; makes findings of it."""

    subject: str
    look: str

    def ok(self, found: str) -> Finding:
        return Finding(Level.OK, self.subject, self.look, found)

    def note(self, found: str, fix: str = "") -> Finding:
        return Finding(Level.NOTE, self.subject, self.look, found, fix)

    def warning(self, found: str, fix: str) -> Finding:
        return Finding(Level.WARNING, self.subject, self.look, found, fix)

    def problem(self, found: str, fix: str) -> Finding:
        return Finding(Level.PROBLEM, self.subject, self.look, found, fix)
