"""LedgerDuty copies events to PostgreSQL, where that keeps the tasks, and rebuilds a Redis that has lost its data.

One steward of all hosts does it at a time; the others check now and then if that one still does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio

from holdfastd.steward.duty import Duty, Health

if TYPE_CHECKING:
    from holdfast.store.ledger import PostgresStore

GATHER = 0.05  # seconds: events in this time are ingested in one transaction
LOOK_EVERY = 1.0  # seconds: waiting requests cause no event
OTHERS_TURN = 1.0  # seconds
_REBUILD = "rebuild"


class LedgerDuty:
    """`waits`: all events were read, so the next one is new."""

    def __init__(self, ledger: PostgresStore, health: Health) -> None:
        self._ledger = ledger
        self._health = health
        self._waits = False

    def duty(self) -> Duty:
        return Duty("ledger", self.run_once, self.wait)

    async def run_once(self) -> float:
        kept = await self._ledger.keep()
        if kept.rebuilding:
            self._health.report(_REBUILD, "Redis is being rebuilt from PostgreSQL")
        else:
            self._health.clear(_REBUILD)
        self._waits = not (kept.busy or kept.more)
        return 0.0 if kept.more else OTHERS_TURN

    async def wait(self, seconds: float) -> None:
        if self._waits:
            await self._ledger.news(LOOK_EVERY)
            await anyio.sleep(GATHER)
        else:
            await anyio.sleep(seconds)
