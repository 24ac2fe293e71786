"""Prepares the fires of the next seconds before they are due, so that then they only need to be sent.

A thousand fires take longer to decide and to write than they may be late. The store compares a prepared order with the
schedule as it has become, and an order counts for its own moment alone: a fire that is not ready in time, or whose
schedule has changed, is found when it is due. Moments are milliseconds of the store's clock, which each look reads and
which is counted on in between.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio.lowlevel

from holdfast.core.schedule_records import FireOrder, ScheduleRecord
from holdfast.store.protocol import ScheduleStore

AHEAD = 2_000  # ms
MOST = 4_000  # orders that are kept: a few kilobytes each
PAGE = 100

Decide = Callable[[ScheduleRecord, int], FireOrder | None]


@dataclass(slots=True)
class Lookahead:
    """`clock` counts seconds. `_ready`: prepared orders by their moments; all schedules due until `_seen` were
    looked at."""

    store: ScheduleStore
    decide: Decide
    clock: Callable[[], float]
    _ready: deque[FireOrder] = field(default_factory=deque[FireOrder])
    _seen: int = 0
    _read_ms: int = 0
    _read_at: float = 0.0

    def note(self, now: int) -> None:
        """Take the store's clock as just read. Orders that were ready by then have been carried out or refused."""
        if now < self._read_ms:  # the clock was set back
            self._seen = 0
            self._ready.clear()
        self._read_ms, self._read_at = now, self.clock()
        while self._ready and self._ready[0].good_from <= now:
            self._ready.popleft()

    def due(self) -> list[FireOrder]:
        """The orders to carry out now."""
        now = self._now()
        found: list[FireOrder] = []
        while self._ready and self._ready[0].good_from <= now:
            found.append(self._ready.popleft())
        return found

    async def look(self, now: int, wait: int) -> float:
        """The seconds to rest, where the next fire is due in `wait` ms; prepares fires if there is time."""
        if wait > AHEAD:
            return (wait - AHEAD) / 1000
        if self._seen < now + AHEAD // 2:
            await self._prepare(max(self._seen, now), now + AHEAD, now + wait)
        return max(0.0, (now + wait - self._now()) / 1000)

    async def _prepare(self, after: int, until: int, first: int) -> None:
        """Prepare fires until the first is due, which must not wait for the others."""
        self._seen = until
        for offset in range(0, MOST, PAGE):
            page = await self.store.schedules_soon(after, until, offset, PAGE)
            for record in page:
                await anyio.lowlevel.checkpoint()
                if len(self._ready) >= MOST or self._now() >= first:
                    return
                self._ready += self._ordered(record)
            if len(page) < PAGE:
                return

    def _ordered(self, record: ScheduleRecord) -> list[FireOrder]:
        if record.due is None:
            return []
        try:
            order = self.decide(record, record.due)
        except Exception:  # the border of one schedule: its error is reported when it is due
            return []
        return [] if order is None else [order]

    def _now(self) -> float:
        """The store's clock as it is at least: an answer takes time to arrive."""
        return self._read_ms + (self.clock() - self._read_at) * 1000
