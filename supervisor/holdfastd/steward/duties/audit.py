"""Audit: own entries that somebody else took from a lane are put back, some in each round."""

from __future__ import annotations

import structlog

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty

WINDOW = 500  # entries looked at in one round
EVERY = 5.0  # seconds
NEXT_PAGE = 0.1  # seconds; also the next part of what vanished

_log = structlog.get_logger("holdfast.steward")


class Audit:
    def __init__(self, store: StewardStore, lane: str) -> None:
        self._store = store
        self._lane = lane
        self._cursor = ""

    def duty(self) -> Duty:
        return Duty(f"audit of {self._lane}", self.turn)

    async def turn(self) -> float:
        put_back, self._cursor = await self._store.audit(self._lane, WINDOW, self._cursor)
        if put_back:
            _log.warning("entries vanished from a lane and were put back", lane=self._lane, tasks=put_back)
        return NEXT_PAGE if self._cursor or put_back else EVERY
