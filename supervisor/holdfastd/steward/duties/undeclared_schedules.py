"""Schedules of the code that no live worker declares any more: those of an application that serves are removed, others
are named in the log."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from holdfast.core.schedule_records import Undeclared
from holdfast.store.protocol import ScheduleStore
from holdfastd.steward.duty import Duty

AT_ONCE = 50  # schedules
EVERY = 1.0  # seconds
NEXT_STEP = 0.02  # seconds: others shall not wait for a long look
AWAY = 300.0  # seconds: so long an application may be away for a deployment, and nothing is said of its schedules

_log = structlog.get_logger("holdfast.steward")


@dataclass(slots=True)
class UndeclaredSchedules:
    """`found` is of the look that goes on; `since`: when each of the last one was seen first."""

    store: ScheduleStore
    clock: Callable[[], float] = time.monotonic
    token: str = ""
    found: set[Undeclared] = field(default_factory=set[Undeclared])
    since: dict[Undeclared, float] = field(default_factory=dict[Undeclared, float])
    named: frozenset[Undeclared] = frozenset()

    def duty(self) -> Duty:
        return Duty("undeclared schedules", self.turn)

    async def turn(self) -> float:
        step = await self.store.retire_schedules(self.token, AT_ONCE)
        if step.token == self.token:
            return EVERY  # nothing was looked at
        self.token = step.token
        for one in step.removed:
            _log.info(
                "a schedule was removed: the code no longer declares it",
                schedule=one.schedule_id,
                application=one.owner,
            )
        self.found = {*(() if step.begins else self.found), *step.left}
        if step.more:
            return NEXT_STEP
        self._name(self.clock())
        return EVERY

    def _name(self, now: float) -> None:
        """Each once, as long as it is so."""
        self.since = {one: self.since.get(one, now) for one in self.found}
        due = frozenset(one for one, since in self.since.items() if not one.owner or now - since >= AWAY)
        for one in sorted(due - self.named, key=lambda one: one.schedule_id):
            _log.warning(
                "no live worker declares this schedule of the code, and it goes on firing",
                schedule=one.schedule_id,
                remedy=one.remedy,
                **({"application": one.owner} if one.owner else {}),
            )
        self.named = due
