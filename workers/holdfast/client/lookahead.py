"""Foresight: the fires of the next seconds are ordered before they are due, so that then they only need to be sent.

A thousand fires take longer to decide and to write than they may be late. What was ordered is compared by the store
with what its schedule has become meanwhile, and is good for its own moment alone: what is not ready in time, or has
changed, is found when it is due. Moments are milliseconds of the store's clock, which is told at each look and counted
on between.
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
    """`clock` counts seconds. `_ready` in order of their moments; all until `_seen` have been looked at."""

    store: ScheduleStore
    decide: Decide
    clock: Callable[[], float]
    _ready: deque[FireOrder] = field(default_factory=deque[FireOrder])
    _seen: int = 0
    _told: int = 0
    _told_at: float = 0.0

    def note(self, now: int) -> None:
        """The store's clock, as just told. What was ready by then has been done, one way or the other."""
        if now < self._told:  # it was put back
            self._seen = 0
            self._ready.clear()
        self._told, self._told_at = now, self.clock()
        while self._ready and self._ready[0].good_from <= now:
            self._ready.popleft()

    def due(self) -> list[FireOrder]:
        """What is to be carried out now."""
        now = self._now()
        found: list[FireOrder] = []
        while self._ready and self._ready[0].good_from <= now:
            found.append(self._ready.popleft())
        return found

    async def look(self, now: int, wait: int) -> float:
        """The next one is due in `wait` ms: seconds to rest, after which it is fired, or time to make it ready."""
        if wait > AHEAD:
            return (wait - AHEAD) / 1000
        if self._seen < now + AHEAD // 2:
            await self._prepare(max(self._seen, now), now + AHEAD, now + wait)
        return max(0.0, (now + wait - self._now()) / 1000)

    async def _prepare(self, after: int, until: int, first: int) -> None:
        """Until the first is due: it shall not wait for the others."""
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
        except Exception:  # the border of one schedule: when it is due, what is wrong with it is told
            return []
        return [] if order is None else [order]

    def _now(self) -> float:
        """Never ahead of the store's clock: what is on its way to us takes its time."""
        return self._told + (self.clock() - self._told_at) * 1000
