"""Rollbacks: a store that has forgotten what it had answered last (a replica that lagged and was made master, say).

What is left is whole and work goes on from there; but tasks that were accepted and results that were recorded meanwhile
are gone. Nobody who only looks at the store that is there now could tell, so the steward remembers the last event.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.health import Health

EVERY = 1.0  # seconds; of what happened since the last look nothing is known
IDLE = 2.0  # seconds, while nothing happens
LOUD_FOR = 600.0  # seconds for which `status` says it
_TROUBLE = "rollback"

_log = structlog.get_logger("holdfast.steward")


class Rollbacks:
    def __init__(self, store: StewardStore, health: Health, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._health = health
        self._clock = clock
        self._seen = ""
        self._quiet_at = 0.0

    def duty(self) -> Duty:
        return Duty("rollbacks", self.turn)

    async def turn(self) -> float:
        last, gone_ms = await self._store.latest(self._seen)
        if gone_ms is not None:
            _log.error(
                "the store has gone back: what it had answered last is lost",
                at_least_s=round(gone_ms / 1000, 3),
                seen=self._seen,
            )
            trouble = f"the store went back by {gone_ms / 1000:.1f} s or more: what it accepted in that time is lost"
            self._health.ailing(_TROUBLE, trouble)
            self._quiet_at = self._clock() + LOUD_FOR
        elif self._clock() >= self._quiet_at:
            self._health.well(_TROUBLE)
        idle, self._seen = last == self._seen, last
        return IDLE if idle else EVERY
