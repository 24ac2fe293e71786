"""StoreRollbacks detects that the store has lost its latest writes (a lagging replica became master, say).

The data that is left is consistent and work continues; but tasks accepted and results recorded meanwhile are gone. The
store itself does not show that, so the steward remembers the last event.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.health import Health

EVERY = 1.0  # seconds; events since the last check are not covered
IDLE = 2.0  # seconds, while nothing happens
LOUD_FOR = 600.0  # seconds for which `status` says it
_TROUBLE = "rollback"

_log = structlog.get_logger("holdfast.steward")


class StoreRollbacks:
    def __init__(self, store: StewardStore, health: Health, clock: Callable[[], float] = time.monotonic) -> None:
        self._store = store
        self._health = health
        self._clock = clock
        self._seen = ""
        self._quiet_at = 0.0

    def duty(self) -> Duty:
        return Duty("store rollbacks", self.run_once)

    async def run_once(self) -> float:
        last, gone_ms = await self._store.latest(self._seen)
        if gone_ms is not None:
            _log.error(
                "the store has lost its latest writes",
                at_least_s=round(gone_ms / 1000, 3),
                seen=self._seen,
            )
            trouble = f"the store went back by {gone_ms / 1000:.1f} s or more: tasks accepted in that time are lost"
            self._health.report(_TROUBLE, trouble)
            self._quiet_at = self._clock() + LOUD_FOR
        elif self._clock() >= self._quiet_at:
            self._health.clear(_TROUBLE)
        idle, self._seen = last == self._seen, last
        return IDLE if idle else EVERY
