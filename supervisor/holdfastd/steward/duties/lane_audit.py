"""LaneAudit puts back entries of our own that another program took from a lane, some of them in each round."""

from __future__ import annotations

import structlog

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty

WINDOW = 500  # entries checked in one round
EVERY = 5.0  # seconds
NEXT_PAGE = 0.1  # seconds; also used after entries were put back

_log = structlog.get_logger("holdfast.steward")


class LaneAudit:
    def __init__(self, store: StewardStore, lane: str) -> None:
        self._store = store
        self._lane = lane
        self._cursor = ""

    def duty(self) -> Duty:
        return Duty(f"audit of {self._lane}", self.run_once)

    async def run_once(self) -> float:
        put_back, self._cursor = await self._store.audit(self._lane, WINDOW, self._cursor)
        if put_back:
            _log.warning("entries were missing from a lane and were put back", lane=self._lane, tasks=put_back)
        return NEXT_PAGE if self._cursor or put_back else EVERY
