"""Schedules of the code that no live worker declares any more: those of an application with a name are removed, others
are named in the log."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from holdfast.broker.port import ScheduleStore
from holdfast.core.definitions import Undeclared
from holdfastd.steward.duty import Duty

AT_ONCE = 100  # schedules
EVERY = 1.0  # seconds

_log = structlog.get_logger("holdfast.steward")


@dataclass(slots=True)
class UndeclaredSchedules:
    store: ScheduleStore
    picture: str = ""
    named: frozenset[Undeclared] = frozenset()

    def duty(self) -> Duty:
        return Duty("undeclared schedules", self._turn)

    async def _turn(self) -> float:
        found = await self.store.retire_schedules(self.picture, AT_ONCE)
        if found.picture == self.picture and not found.removed:
            return EVERY  # nothing was looked at
        self.picture = found.picture
        for one in found.removed:
            _log.info(
                "a schedule was removed: the code no longer declares it",
                schedule=one.schedule_id,
                application=one.owner,
            )
        self._name(frozenset(one for one in found.left if not one.owner))
        return EVERY

    def _name(self, left: frozenset[Undeclared]) -> None:
        """Each once, as long as it is so. Those of an application with a name may be declared when it is back."""
        for one in left - self.named:
            _log.warning(
                "no live worker declares this schedule of the code, and it goes on firing",
                schedule=one.schedule_id,
                remedy=one.remedy,
            )
        self.named = left
