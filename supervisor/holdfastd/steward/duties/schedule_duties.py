"""Duties for schedules. One makes the tasks of schedules that are due: all stewards try, and the first one makes the
task. The other removes schedules that no code declares any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import structlog

from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import Undeclared
from holdfast.store import Store
from holdfast.telemetry.port import FireSpans
from holdfastd.steward.duty import Duty, punctual

HALTED_REST = 1.0  # seconds


def schedule_fires(
    store: Store,
    queue: str,
    max_bytes: int,
    scan_interval: float,
    scope: HaltScope | None = None,
    spans: FireSpans | None = None,
) -> Duty:
    """Make the duty that makes the tasks of schedules that are due. `scan_interval`: the longest wait in seconds, in
    case a wake-up from the store is lost. During the halts of `scope` the duty makes no tasks; stewards of other hosts
    make them."""
    firing = ScheduleFirer(store, queue, max_bytes, scope=scope, spans=spans)
    wait_for_fires = punctual(store.wait_fires)

    async def run_once() -> float:
        following = await firing.round()
        if firing.halted:
            return HALTED_REST
        return scan_interval if following is None else min(following, scan_interval)

    async def wait(seconds: float) -> None:
        await (anyio.sleep(seconds) if firing.halted else wait_for_fires(seconds))

    return Duty("schedules", run_once, wait)


# UndeclaredSchedules looks for schedules that code has declared and no live worker declares any more. It removes a
# schedule if live workers of the same application no longer declare it. It logs the others, which still fire.

UNDECLARED_AT_ONCE = 50  # schedules
UNDECLARED_EVERY = 5.0  # seconds
NEXT_STEP = 0.02  # seconds: a long check must not delay other clients
AWAY = 300.0  # seconds that an application may have no worker, for example during a deployment, before a log line

_log = structlog.get_logger("holdfast.steward")


@dataclass(slots=True)
class UndeclaredSchedules:
    """The duty that finds schedules that no code declares any more. `found`: undeclared schedules that the present
    check has found. `since`: when the duty first saw each schedule of the last check (by `clock`). `named`: the
    schedules that are logged already."""

    store: Store
    clock: Callable[[], float] = time.monotonic
    token: str = ""
    found: set[Undeclared] = field(default_factory=set[Undeclared])
    since: dict[Undeclared, float] = field(default_factory=dict[Undeclared, float])
    named: frozenset[Undeclared] = frozenset()

    def duty(self) -> Duty:
        return Duty("undeclared schedules", self.run_once)

    async def run_once(self) -> float:
        step = await self.store.retire_schedules(self.token, UNDECLARED_AT_ONCE)
        self.token = step.token
        for schedule in step.removed:
            _log.info(
                "a schedule was removed: the code no longer declares it",
                schedule=schedule.schedule_id,
                application=schedule.owner,
            )
        self.found = {*(() if step.begins else self.found), *step.left}
        if step.more:
            return NEXT_STEP
        self._name(self.clock())
        return UNDECLARED_EVERY

    def _name(self, now: float) -> None:
        """Log each schedule that still makes tasks although no code declares it any more; each one only once."""
        self.since = {schedule: self.since.get(schedule, now) for schedule in self.found}
        due = frozenset(found for found, since in self.since.items() if not found.owner or now - since >= AWAY)
        for schedule in sorted(due - self.named, key=lambda schedule: schedule.schedule_id):
            _log.warning(
                "no live worker declares this schedule of the code, and it still fires",
                schedule=schedule.schedule_id,
                remedy=schedule.remedy,
                **({"application": schedule.owner} if schedule.owner else {}),
            )
        self.named = due
