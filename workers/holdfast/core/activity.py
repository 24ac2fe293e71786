"""Past changes and events: the changes that somebody asked for, and the events of the queue, as the store keeps
them."""

from __future__ import annotations

from dataclasses import dataclass, replace

KEPT = 10_000  # changes, the last ones


@dataclass(frozen=True, slots=True)
class Activity:
    """A change that somebody has asked for. `who` asked, and `origin` says from where. `change`: its name, for example
    `tasks/cancel`.

    `subject`: the id of the task, lane or schedule that was changed. `related`: the id it came from, for example the
    task that was edited. `outcome`: empty if the change was carried out, else the reason; for a change of many tasks
    their filter, or the counts. `is_refused`: it was not carried out, or not for all tasks. `position`: of its entry in
    the stream; empty before it is kept.
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
    """An event. `subject`: the id of the task or of the worker. `position`: of its entry in the stream; one entry may
    tell of several tasks."""

    position: str
    event: str
    subject: str
    detail: str

    @property
    def at_ms(self) -> int:
        return int(self.position.partition("-")[0])


@dataclass(frozen=True, slots=True)
class Happenings:
    """A page of the events stream, oldest first. `missed`: some before them were trimmed unread."""

    events: tuple[Happening, ...]
    missed: bool
