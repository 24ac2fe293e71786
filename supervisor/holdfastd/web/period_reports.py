"""The reports of periods that pages show, kept for a while: reading the rollups of a long period takes seconds."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field

from holdfast.client.periods import summed_periods
from holdfastd.documents.period_report import Report
from holdfastd.web.queue_access import QueueAccess

LEAST = 2.0  # seconds for which a report counts as that of now
SHARE = 20  # a report that took long to read counts for so many times as long


@dataclass(slots=True)
class _Kept:
    report: Report
    until: float


@dataclass(slots=True)
class PeriodReports:
    """The first page that asks for a period waits for its report. Later ones get the last report, and if that is old,
    the next is read beside them."""

    access: QueueAccess
    _kept: dict[int, _Kept] = field(default_factory=dict[int, _Kept])
    _reading: dict[int, asyncio.Task[Report]] = field(default_factory=dict[int, "asyncio.Task[Report]"])

    async def of(self, length_ms: int) -> Report:
        """The report of the period of this length until now."""
        kept = self._kept.get(length_ms)
        if kept is not None and time.monotonic() < kept.until:
            return kept.report
        reading = self._reading.get(length_ms)
        if reading is None:
            reading = self._reading[length_ms] = asyncio.create_task(self._read(length_ms))
            reading.add_done_callback(lambda done: self._finished(length_ms, done))
        return await asyncio.shield(reading) if kept is None else kept.report

    async def _read(self, length_ms: int) -> Report:
        began = time.monotonic()
        store = self.access.store
        report = Report.of(*await summed_periods(store, await store.clock_ms(), length_ms))
        ended = time.monotonic()
        self._kept[length_ms] = _Kept(report, ended + max(LEAST, SHARE * (ended - began)))
        return report

    def _finished(self, length_ms: int, done: asyncio.Task[Report]) -> None:
        """While the store is away the last report is not shown as if it were of now."""
        del self._reading[length_ms]
        if not done.cancelled() and done.exception() is not None:
            self._kept.pop(length_ms, None)
