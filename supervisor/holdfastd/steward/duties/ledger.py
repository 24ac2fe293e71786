"""The ledger: where PostgreSQL keeps tasks, the steward copies what happens, and rebuilds a Redis that has lost it.

One steward of all hosts does it at a time; the others look now and then whether it still does.
"""

from __future__ import annotations

import anyio

from holdfast.store.protocol import Ledger
from holdfastd.steward.duty import Duty
from holdfastd.steward.health import Health

GATHER = 0.05  # seconds: what happens meanwhile is ingested in one transaction
LOOK_EVERY = 1.0  # seconds: requests that wait make no event
OTHERS_TURN = 1.0  # seconds
_REBUILD = "rebuild"


class LedgerDuty:
    """`waits`: all was read, so the next event is news."""

    def __init__(self, ledger: Ledger, health: Health) -> None:
        self._ledger = ledger
        self._health = health
        self._waits = False

    def duty(self) -> Duty:
        return Duty("ledger", self.turn, self.rest)

    async def turn(self) -> float:
        kept = await self._ledger.keep()
        if kept.rebuilding:
            self._health.ailing(_REBUILD, "Redis is being rebuilt from PostgreSQL")
        else:
            self._health.well(_REBUILD)
        self._waits = not (kept.busy or kept.more)
        return 0.0 if kept.more else OTHERS_TURN

    async def rest(self, seconds: float) -> None:
        if self._waits:
            await self._ledger.news(LOOK_EVERY)
            await anyio.sleep(GATHER)
        else:
            await anyio.sleep(seconds)
