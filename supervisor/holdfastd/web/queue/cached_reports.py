"""The reports of periods that pages show, kept for a while: reading the rollups of a long period takes seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Generic, NamedTuple, TypeVar

from holdfast.client.task_filter import TaskFilter
from holdfast.core.counts import Counts
from holdfast.errors import HoldfastError
from holdfast.store.periods import last_periods
from holdfastd.doctor import postgres_server
from holdfastd.doctor import store_checks as store_check
from holdfastd.doctor.finding import Finding, Level
from holdfastd.documents.period_report import Report
from holdfastd.web.queue.queue_access import QueueAccess

T = TypeVar("T")

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
class PeriodReports:
    """The page that asks first for the report of a period waits for it for a short while; others have none until it is
    there. Later pages get the last report, and if that is old, the next is read beside them. `_kept`: each report, and
    the moment until which it counts as that of now."""

    access: QueueAccess
    _kept: dict[_Wanted, tuple[Report, float]] = field(default_factory=dict[_Wanted, tuple[Report, float]])
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
        report, until = kept
        if time.monotonic() >= until:
            self._begin(wanted)
        return report

    async def fresh(self, length_ms: int, handler: str | None = None, lane: str | None = None) -> Report:
        """The report like `of`, but never an old one."""
        wanted = _Wanted(length_ms, handler, lane)
        kept = self._kept.get(wanted)
        if kept is not None and time.monotonic() < kept[1]:
            return kept[0]
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
        self._kept[wanted] = report, ended + max(LEAST, SHARE * (ended - began))
        while len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]  # the report that was read longest ago
        return report

    def _finished(self, wanted: _Wanted, done: asyncio.Task[Report]) -> None:
        """Note that a report was read. If the store is away, the old report is dropped, so that it is not shown as
        current."""
        del self._reading[wanted]
        if not done.cancelled() and done.exception() is not None:
            self._kept.pop(wanted, None)


class _KeptAnswer(Generic[T]):
    """An answer that is read again at the next call after `seconds`."""

    def __init__(self, seconds: float, look: Callable[[], Awaitable[T]]) -> None:
        self._seconds, self._look = seconds, look
        self._found: tuple[T, float] | None = None

    async def read(self) -> T:
        now = time.monotonic()
        if self._found is None or now - self._found[1] > self._seconds:
            self._found = await self._look(), now
        return self._found[0]

    def forget(self) -> None:
        """Read anew at the next call: somebody has changed something."""
        self._found = None


# Problems of the queue and its store now, as `supervisor doctor` says them; read at most once in a while.

PROBLEMS_EVERY = 5.0  # seconds for which the findings count as those of now
SHOWN = frozenset({Level.WARNING, Level.PROBLEM})


class CurrentProblems(_KeptAnswer[list[Finding]]):
    """Findings that somebody should know of, problems first."""

    def __init__(self, access: QueueAccess) -> None:
        super().__init__(PROBLEMS_EVERY, partial(_problems, access))


async def _problems(access: QueueAccess) -> list[Finding]:
    settings = access.settings
    info = await access.store.examine([access.queue], 0.0)
    expected = store_check.Expectation(access.queue, settings.lease, 0, running=True, embedded=settings.embedded)
    found = [*store_check.judge(info, expected)]
    if settings.postgres is not None:
        found += postgres_server.judge(await postgres_server.look_through(access.store, settings.postgres, PATIENCE))
    findings = [each for each in found if each.level in SHOWN]
    return sorted(findings, key=lambda each: each.level is not Level.PROBLEM)


# The numbers of tasks by state, read at most once in a while.

COUNTS_EVERY = 2.0  # seconds for which the numbers count as those of now


class QueueCounts(_KeptAnswer[Counts]):
    def __init__(self, access: QueueAccess) -> None:
        super().__init__(COUNTS_EVERY, access.store.counts)
        self._access = access

    async def looked_through(self, wanted: TaskFilter) -> int | None:
        """About how many tasks a list with this filter looks at: those of its batch, or in its state; None if a worker
        runs them, which are few."""
        if wanted.owner:
            return None
        if wanted.batch:
            with suppress(HoldfastError):
                return (await self._access.manager.batch(wanted.batch).record()).counts.total
            return 0
        states = (await self.read()).states
        return sum(states.get(state, 0) for state in wanted.state or states)
