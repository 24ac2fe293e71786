"""A finding of `supervisor doctor`: the check, its result, and the remedy if one is needed."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The severity of a finding. A note informs. A warning is a risk. A problem keeps tasks from running, or may lose
    tasks."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the report. `subject` and `look` name the check. `found`: its result. `fix`: the remedy, or empty.

    `doctor --json` prints the fields under these names.
    """

    level: Level
    subject: str
    look: str
    found: str
    fix: str = ""


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a subject. Its methods make findings."""

    subject: str
    look: str

    def ok(self, text: str) -> Finding:
        return Finding(Level.OK, self.subject, self.look, text)

    def note(self, text: str, fix: str = "") -> Finding:
        return Finding(Level.NOTE, self.subject, self.look, text, fix)

    def warning(self, text: str, fix: str) -> Finding:
        return Finding(Level.WARNING, self.subject, self.look, text, fix)

    def problem(self, text: str, fix: str) -> Finding:
        return Finding(Level.PROBLEM, self.subject, self.look, text, fix)
