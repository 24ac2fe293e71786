"""Keeps the reports that pages show for a while, because reading the rollups of a long period takes seconds."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from holdfast.client.task_filter import TaskFilter
from holdfast.core.counts import Counts
from holdfast.core.store_info import StoreInfo
from holdfast.errors import HoldfastError
from holdfastd.control.local_supervisor import LocalSupervisor
from holdfastd.doctor import postgres_server, running_service
from holdfastd.doctor import store_checks as store_check
from holdfastd.doctor.finding import Finding, Level
from holdfastd.documents.period_report import Report, read_report
from holdfastd.web.queue.queue_access import QueueAccess

T = TypeVar("T")

LEAST = 2.0  # seconds for which a report counts as current, at least
SHARE = 20  # a report counts as current for this many times the time that reading it took
MOST = 50  # reports that are kept
PATIENCE = 1.0  # seconds that a page waits for its first report


class _Wanted(NamedTuple):
    """The report that a page asks for. `handler`, `lane`: None for all."""

    length_ms: int
    handler: str | None = None
    lane: str | None = None


@dataclass(slots=True)
class PeriodReports:
    """The kept reports of periods. The first page that asks for a report waits for it up to PATIENCE; during this time
    other pages get None. Later pages get the kept report at once. If it is old, a new one is read in the background.
    `_kept`: each report with the monotonic time until which it counts as current."""

    access: QueueAccess
    _kept: dict[_Wanted, tuple[Report, float]] = field(default_factory=dict[_Wanted, tuple[Report, float]])
    _reading: dict[_Wanted, asyncio.Task[Report]] = field(default_factory=dict[_Wanted, "asyncio.Task[Report]"])

    async def of(self, length_ms: int, handler: str | None = None) -> Report | None:
        """The report of the period of this length until now, for one handler or for all. The report may be old. None
        while the first report is being read."""
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
        """Like `of`, but the report is always current: the caller waits until a new one was read."""
        wanted = _Wanted(length_ms, handler, lane)
        kept = self._kept.get(wanted)
        if kept is not None and time.monotonic() < kept[1]:
            return kept[0]
        return await self._awaited(wanted)

    async def _awaited(self, wanted: _Wanted) -> Report:
        return await asyncio.shield(self._begin(wanted))

    def _begin(self, wanted: _Wanted) -> asyncio.Task[Report]:
        """Begin to read the report in the background, unless this report is being read already."""
        reading = self._reading.get(wanted)
        if reading is None:
            reading = self._reading[wanted] = asyncio.create_task(self._read(wanted))
            reading.add_done_callback(lambda done: self._finished(wanted, done))
        return reading

    async def _read(self, wanted: _Wanted) -> Report:
        began = time.monotonic()
        report = await read_report(self.access.store, *wanted)
        ended = time.monotonic()
        self._kept.pop(wanted, None)
        self._kept[wanted] = report, ended + max(LEAST, SHARE * (ended - began))
        while len(self._kept) > MOST:
            del self._kept[next(iter(self._kept))]  # the report that was read longest ago
        return report

    def _finished(self, wanted: _Wanted, done: asyncio.Task[Report]) -> None:
        """Record that a report was read. If the store is away, the old report is dropped, so that it is not shown as
        current."""
        del self._reading[wanted]
        if not done.cancelled() and done.exception() is not None:
            self._kept.pop(wanted, None)


class _KeptAnswer(Generic[T]):
    """Keeps the answer of `look` for `seconds`. A call after that asks `look` again."""

    def __init__(self, seconds: float, look: Callable[[], Awaitable[T]]) -> None:
        self._seconds, self._look = seconds, look
        self._found: tuple[T, float] | None = None
        self._reading = asyncio.Lock()  # callers that come meanwhile share one answer
        self._changes = 0

    async def read(self) -> T:
        async with self._reading:
            now = time.monotonic()
            if self._found is not None and now - self._found[1] <= self._seconds:
                return self._found[0]
            changes, answer = self._changes, await self._look()
            if changes == self._changes:  # else the answer may be older than the change
                self._found = answer, now
            return answer

    def forget(self) -> None:
        """Drop the answer, because something has changed: the next call reads it again."""
        self._changes += 1
        self._found = None


# The present problems of the queue and its store: findings of `supervisor doctor`, kept for some seconds.

PROBLEMS_EVERY = 5.0  # seconds for which the findings count as current
WHOLE_EVERY = 300.0  # seconds after which everything is examined again, also rights, latency, slow log and clients
SHOWN = frozenset({Level.WARNING, Level.PROBLEM})


class CurrentProblems(_KeptAnswer[list[Finding]]):
    """The findings of `supervisor doctor` about the queue, its store, and the supervisor of this host. A whole
    examination takes hundreds of commands, so between two of them only the parts that change are examined."""

    def __init__(self, access: QueueAccess) -> None:
        super().__init__(PROBLEMS_EVERY, self._look_through)
        self._access = access
        self._whole: tuple[StoreInfo, float] | None = None

    async def wrong(self) -> list[Finding]:
        """The findings that are problems or warnings, problems first."""
        findings = [each for each in await self.read() if each.level in SHOWN]
        return sorted(findings, key=lambda each: each.level is not Level.PROBLEM)

    async def _look_through(self) -> list[Finding]:
        access, settings = self._access, self._access.settings
        expected = store_check.Expectation(access.queue, settings.lease, 0, running=True, embedded=settings.embedded)
        found = [*store_check.judge(await self._examine(), expected)]
        if settings.postgres is not None:
            info = await postgres_server.look_through(access.store, settings.postgres, PATIENCE)
            found += postgres_server.judge(info)
        if local := await LocalSupervisor(settings).find():
            found += running_service.judge_status(local.status, time.time())
        return found

    async def _examine(self) -> StoreInfo:
        store, lanes = self._access.store, [self._access.queue]
        if self._whole is not None and time.monotonic() < self._whole[1]:
            return await store.examine_again(lanes, self._whole[0])
        whole = await store.examine(lanes, 0.0)
        self._whole = whole, time.monotonic() + WHOLE_EVERY
        return whole


# The numbers of tasks by state, kept for some seconds.

COUNTS_EVERY = 2.0  # seconds for which the numbers count as current


class QueueCounts(_KeptAnswer[Counts]):
    def __init__(self, access: QueueAccess) -> None:
        super().__init__(COUNTS_EVERY, access.store.counts)
        self._access = access

    async def looked_through(self, wanted: TaskFilter) -> int | None:
        """About how many tasks a list with this filter searches: the tasks of the batch, or the tasks in the states.
        None for a filter by worker or by kind of error, which has an index of its own."""
        if wanted.owner or wanted.error:
            return None
        if wanted.batch:
            with suppress(HoldfastError):
                return (await self._access.manager.batch(wanted.batch).record()).counts.total
            return 0
        states = (await self.read()).states
        return sum(states.get(state, 0) for state in wanted.state or states)
