"""ExpiredLeases recovers the tasks of workers whose lease has expired, as after the loss of a host."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from holdfast.core.tasks import MAX_CRASHES
from holdfast.store.protocol import StewardStore
from holdfastd.steward.clock_watch import ClockWatch
from holdfastd.steward.duties.worker_recovery import Recovered
from holdfastd.steward.duty import Duty

SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 2.5  # seconds
CAUSE = "lease"

_log = structlog.get_logger("holdfast.steward")


@dataclass(frozen=True, slots=True)
class LeaseSettings:
    """`lease` and `grace`: seconds for which a silent worker counts as alive; `max_crashes`: runs of a task after its
    first worker's death."""

    lease: float
    grace: float
    max_crashes: int = MAX_CRASHES


class ExpiredLeases:
    def __init__(self, store: StewardStore, watch: ClockWatch, settings: LeaseSettings, recovered: Recovered) -> None:
        self._store = store
        self._watch = watch
        self._settings = settings
        self._recovered = recovered

    def duty(self) -> Duty:
        return Duty("expired leases", self.run_once)

    async def run_once(self) -> float:
        if await self._watch.leases_hold():
            await self._reap()
        return max(SHORTEST_PAUSE, min(LONGEST_PAUSE, self._settings.grace / 2))

    async def _reap(self) -> None:
        lease_ms, grace_ms = round(self._settings.lease * 1000), round(self._settings.grace * 1000)
        lapsed = await self._store.reap(lease_ms, grace_ms, self._settings.max_crashes)
        for incarnation, count in lapsed.items():
            _log.warning("lost worker recovered: its lease expired", incarnation=incarnation, tasks=count)
            self._recovered(incarnation, count, CAUSE)
