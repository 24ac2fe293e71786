"""Changes that somebody has asked for, as they are kept and read."""

from __future__ import annotations

from dataclasses import dataclass, replace

KEPT = 10_000  # changes, the last ones


@dataclass(frozen=True, slots=True)
class Activity:
    """`who` asked, `origin`: from where; `change`: as `tasks/cancel`; `subject`: what it was made to; `outcome`: empty
    if it was carried out, else why not; of a change of many tasks its filter, or its counts. `related`: what it was
    made of, as the task that was edited. `is_refused`: it was not carried out, or not to all tasks. `position`: of its
    entry in the stream, empty before it is kept."""

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
