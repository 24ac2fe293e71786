"""Rollups of minutes are packed into one of ten minutes and one of an hour, and those of hours into one of a day.

Every steward does it: all would pack the same, and the first one's stays. A steward that starts looks eight hours back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.client.periods import made_of_shorter
from holdfast.core.rollup import MINUTE, MINUTES_KEPT_MS, PACKED
from holdfast.store.protocol import Store
from holdfastd.steward.duty import Duty

SETTLED = 2 * MINUTE  # after its end a window changes no more
EVERY = 60.0  # seconds


@dataclass(slots=True)
class Rollups:
    """`_next`: by length, the start of the first window that this steward has not packed; milliseconds."""

    store: Store
    _next: dict[int, int] = field(default_factory=lambda: dict.fromkeys(PACKED, 0))

    def duty(self) -> Duty:
        return Duty("rollups", self.pack)

    async def pack(self) -> float:
        """Pack the windows that are over, the shortest first; the seconds until the next look."""
        now_ms = await self.store.clock_ms()
        for length in PACKED:
            await self._pack(length, now_ms)
        return EVERY

    async def _pack(self, length: int, now_ms: int) -> None:
        settled = now_ms - SETTLED
        oldest = (settled - MINUTES_KEPT_MS - 1) // length * length  # its end is within the eight hours
        start = max(self._next[length], oldest)
        while start + length <= settled:
            await self._pack_window(length, start, now_ms)
            start += length
            self._next[length] = start

    async def _pack_window(self, length: int, start: int, now_ms: int) -> None:
        [kept] = [rollup async for _, rollup in self.store.rollups(length, start, start + length)]
        if kept is None and (rollup := await made_of_shorter(self.store, now_ms, length, start)):
            await self.store.keep_rollup(length, start, rollup)
