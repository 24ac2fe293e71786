"""Changes that operators have made, as they are kept and read."""

from __future__ import annotations

import re
from dataclasses import dataclass

KEPT = 10_000  # changes, the last ones

_PROGRESS = re.compile(r"(?:(?:cancel|retry|remove) )?begun\b|done: ")


@dataclass(frozen=True, slots=True)
class Activity:
    """`who` asked, `origin`: from where; `change`: as `tasks/cancel`; `subject`: what it was made to; `outcome`: empty
    if it was carried out, else why not; of a change of many tasks its filter, or its counts. `related`: what it was
    made of, as the task that was edited. `position`: of its entry in the stream, empty before it is kept."""

    who: str
    origin: str
    change: str
    subject: str
    outcome: str = ""
    related: str = ""
    position: str = ""

    @property
    def is_refused(self) -> bool:
        return bool(self.outcome) and not _PROGRESS.match(self.outcome)

    @property
    def at_ms(self) -> int:
        return int(self.position.partition("-")[0] or 0)
