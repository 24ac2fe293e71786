"""The store's records of the past: changes that somebody asked for, and events of the queue."""

from __future__ import annotations

from dataclasses import dataclass, replace

KEPT = 10_000  # changes; older ones are dropped


@dataclass(frozen=True, slots=True)
class Activity:
    """A change that somebody has asked for. `who`: the one who asked; `origin`: from where. `change`: its name, for
    example `tasks/cancel`.

    `subject`: the id of the task, lane or schedule that was changed. `related`: the id it came from, for example the
    task that was edited. `outcome`: why the change was refused; else its reason, or the values before and after
    (`running tasks none → 4`), or empty. For a change of many tasks, `outcome` is first the filter of these tasks, and
    at the end the counts. `is_refused`: the change was not carried out, or not for all tasks. `position`: the id of its
    entry in the stream; empty until the store has it.
    """

    who: str
    origin: str
    change: str
    subject: str
    outcome: str = ""
    related: str = ""
    is_refused: bool = False
    position: str = ""

    def refused(self, why: str) -> Activity:
        return replace(self, outcome=why, is_refused=True)

    @property
    def at_ms(self) -> int:
        return int(self.position.partition("-")[0] or 0)


@dataclass(frozen=True, slots=True)
class Happening:
    """An event. `subject`: the id of the task or of the worker. `position`: the id of its entry in the stream; one
    entry may report several tasks."""

    position: str
    event: str
    subject: str
    detail: str

    @property
    def at_ms(self) -> int:
        return int(self.position.partition("-")[0])


@dataclass(frozen=True, slots=True)
class Happenings:
    """A page of the events stream, oldest first. `missed`: True if the store has deleted events between the caller's
    position and this page."""

    events: tuple[Happening, ...]
    missed: bool
