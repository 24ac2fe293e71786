"""The reports of periods that pages show, kept for a while: reading the rollups of a long period takes seconds."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.client.periods import last_periods
from holdfastd.documents.period_report import Report
from holdfastd.web.queue.queue_access import QueueAccess

LEAST = 2.0  # seconds for which a report counts as that of now
SHARE = 20  # a report that took long to read counts for so many times as long
MOST = 50  # reports that are kept
PATIENCE = 1.0  # seconds that a page waits for its first report


class _Wanted(NamedTuple):
    """`handler`, `lane`: None for all."""

    length_ms: int
    handler: str | None = None
    lane: str | None = None


@dataclass(slots=True)
class _KeptReport:
    report: Report
    until: float


@dataclass(slots=True)
class PeriodReports:
    """The page that asks first for the report of a period waits for it for a short while; others have none until it is
    there. Later pages get the last report, and if that is old, the next is read beside them."""

    access: QueueAccess
    _kept: dict[_Wanted, _KeptReport] = field(default_factory=dict[_Wanted, _KeptReport])
    _reading: dict[_Wanted, asyncio.Task[Report]] = field(default_factory=dict[_Wanted, "asyncio.Task[Report]"])

    async def of(self, length_ms: int, handler: str | None = None) -> Report | None:
        """The report of the period of this length until now, of one handler or of all; an old one at once. None while
        the first one is read."""
        wanted = _Wanted(length_ms, handler)
        kept = self._kept.get(wanted)
        if kept is None:
            if wanted in self._reading:
                return None
            with suppress(TimeoutError):
                return await asyncio.wait_for(self._awaited(wanted), PATIENCE)
            return None
        if time.monotonic() >= kept.until:
            self._begin(wanted)
        return kept.report

    async def fresh(self, length_ms: int, handler: str | None = None, lane: str | None = None) -> Report:
        """As `of`, and never an old one."""
        wanted = _Wanted(length_ms, handler, lane)
        kept = self._kept.get(wanted)
        if kept is not None and time.monotonic() < kept.until:
            return kept.report
        return await self._awaited(wanted)

    async def _awaited(self, wanted: _Wanted) -> Report:
        return await asyncio.shield(self._begin(wanted))

    def _begin(self, wanted: _Wanted) -> asyncio.Task[Report]:
        """Read it, unless it is being read."""
        reading = self._reading.get(wanted)
        if reading is None:
            reading = self._reading[wanted] = asyncio.create_task(self._read(wanted))
            reading.add_done_callback(lambda done: self._finished(wanted, done))
        return reading

    async def _read(self, wanted: _Wanted) -> Report:
        began = time.monotonic()
        store = self.access.store
        now_ms = await store.clock_ms()
        latest, before = await last_periods(store, now_ms, *wanted)
        report = await asyncio.to_thread(Report.of, latest, before)  # of a hundred handlers it takes 20 ms
        ended = time.monotonic()
        self._kept.pop(wanted, None)
        self._kept[wanted] = _KeptReport(report, ended + max(LEAST, SHARE * (ended - began)))
        while len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]  # that which was read longest ago
        return report

    def _finished(self, wanted: _Wanted, done: asyncio.Task[Report]) -> None:
        """While the store is away the last report is not shown as if it were of now."""
        del self._reading[wanted]
        if not done.cancelled() and done.exception() is not None:
            self._kept.pop(wanted, None)
