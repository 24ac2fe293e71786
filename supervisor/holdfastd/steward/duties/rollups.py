"""Rollups of minutes are packed into one of ten minutes, which is kept for thirty days.

Every steward does it: all would pack the same, and the first one's stays. A steward that starts looks eight hours back.
"""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.rollup import MINUTE, MINUTES_KEPT_MS, TEN_MINUTES
from holdfast.store.protocol import Store
from holdfastd.steward.duty import Duty

SETTLED = 2 * MINUTE  # after its end a window changes no more
EVERY = 60.0  # seconds


@dataclass(slots=True)
class Rollups:
    """`_next`: the start of the first window that this steward has not packed, in milliseconds."""

    store: Store
    _next: int = 0

    def duty(self) -> Duty:
        return Duty("rollups", self.pack)

    async def pack(self) -> float:
        """Pack the windows that are over; the seconds until the next look."""
        over = (await self.store.clock_ms() - SETTLED) // TEN_MINUTES * TEN_MINUTES
        self._next = max(self._next, over - MINUTES_KEPT_MS)
        while self._next < over:
            await self.store.pack_rollup(self._next)
            self._next += TEN_MINUTES
        return EVERY
