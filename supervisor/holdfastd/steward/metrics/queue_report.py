"""Reads the metrics of the queue from the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import uuid4

import anyio

from holdfast.core.counts import Counts, LedgerStatus
from holdfast.core.delivery import Settle
from holdfast.core.lanes import Lanes
from holdfast.core.rollup import MINUTE, OTHER, Figures, Rollup, Series, sum_of
from holdfast.core.store_info import Gauges
from holdfast.store import Store, ledger_of
from holdfast.telemetry import metric_table as table
from holdfast.telemetry import semantic_names
from holdfast.telemetry.metric_table import BoundedNames, Exemplar, Readings
from holdfast.telemetry.semantic_names import HOLDFAST, PROCESS
from holdfast_config import Settings
from holdfastd.steward.duty import Duty

# DeliveryTotals adds up rollups to counters that only grow. They begin when this steward begins to report.
#
# A minute that is over no longer changes, so it is added once. The present minute is added anew at each reading. The
# number of lane and handler names is limited; all further names count as `other`.

MOST_SERIES = 1000  # pairs of a lane and a handler
LONGEST_GAP = 30 * MINUTE  # if a steward was not scraped for longer, it leaves out what happened before


class DeliveryTotals:
    def __init__(self, lanes: BoundedNames, handlers: BoundedNames) -> None:
        self._lanes = lanes
        self._handlers = handlers
        self._over: Rollup = {}
        self._pairs: set[Series] = set()
        self._next: int | None = None
        self.began_ms = 0  # the start of the first minute that is counted

    def since(self, now_ms: int) -> int:
        """The start of the first minute whose rollup (the counts of that minute) the caller must read, in Unix
        milliseconds."""
        this = now_ms // MINUTE * MINUTE
        return this if self._next is None else max(self._next, this - LONGEST_GAP)

    def add(self, minutes: Mapping[int, Rollup], now_ms: int) -> Rollup:
        """Add the rollups from `since(now_ms)` to now, by the start of their minute. Returns the totals."""
        this = now_ms // MINUTE * MINUTE
        for start, rollup in sorted(minutes.items()):
            if start < this:
                self._over = sum_of([self._over, self._bounded(rollup)])
        self.began_ms = self.began_ms or this
        self._next = this
        return sum_of([self._over, *(self._bounded(minutes[start]) for start in minutes if start >= this)])

    def _bounded(self, rollup: Rollup) -> Rollup:
        """The same figures with at most the allowed number of lane and handler names. The busiest series keep their
        names; the others are added up as `other`."""
        bounded: Rollup = {}
        for series in sorted(rollup, key=lambda each: -rollup[each].outcomes.total()):
            bounded.setdefault(self._named(series), Figures()).add(rollup[series])
        return bounded

    def _named(self, series: Series) -> Series:
        named = Series(self._lanes.name(series.lane), self._handlers.name(series.handler))
        if named not in self._pairs and len(self._pairs) >= MOST_SERIES:
            return Series(OTHER, OTHER)
        self._pairs.add(named)
        return named


EXEMPLAR_KEPT_MS = 2 * MINUTE
_ERRORS = frozenset({Settle.FAILED, Settle.REJECTED, Settle.EXHAUSTED, Settle.UNREADABLE, Settle.RETRY})


class QueueReport:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._queue = settings.queue_name
        self._lanes = BoundedNames()
        self.forget()

    def forget(self) -> None:
        """Forget all counts, because another steward reports the queue now. Later the counters begin at 0 again."""
        self._totals = DeliveryTotals(self._lanes, BoundedNames())

    async def read(self) -> Readings:
        readings = Readings()
        gauges = await self._store.gauges(round(self._settings.lease * 1000))
        self._set_gauges(readings, gauges)
        self._set_lanes(readings, await self._store.lanes(self._settings.lane_names))
        self._set_counts(readings, await self._store.counts())
        since = self._totals.since(gauges.now_ms)
        minutes = await self._store.minutes(since, gauges.now_ms // MINUTE * MINUTE + MINUTE)
        totals = self._totals.add(minutes, gauges.now_ms)
        self._set_deliveries(readings, totals)
        self._set_exemplars(readings, totals, gauges.now_ms)
        readings.report_began_ms = self._totals.began_ms
        if ledger := ledger_of(self._store):
            self._set_ledger(readings, await ledger.ledger())
        return readings

    def _set_gauges(self, readings: Readings, gauges: Gauges) -> None:
        queue, late_ms = self._queue, gauges.now_ms - (gauges.due_ms or gauges.now_ms)
        readings.set(table.LEASES, gauges.workers - gauges.silent, queue, "held")
        readings.set(table.LEASES, gauges.silent, queue, "silent")
        readings.set(table.SCHEDULES, gauges.schedules, queue)
        readings.set(table.SCHEDULES_LATENESS, max(0, late_ms) / 1000, queue)
        readings.set(table.WEBHOOKS_WAITING, gauges.webhooks, queue)
        readings.set(table.STORE_MEMORY, gauges.memory.used, queue)
        readings.set(table.STORE_MEMORY_LIMIT, gauges.memory.limit, queue)

    def _set_lanes(self, readings: Readings, lanes: Lanes) -> None:
        for lane in sorted(lanes.lanes, key=lambda each: -each.waiting):
            labels = self._queue, self._lanes.name(lane.name)
            waits_ms = 0 if lane.oldest_ms is None else lanes.now_ms - lane.oldest_ms
            readings.set(table.LANE_DEPTH, lane.waiting, *labels)
            readings.set(table.LANE_RUNNING, lane.running, *labels)
            readings.set(table.LANE_OLDEST, max(0, waits_ms) / 1000, *labels)
            readings.set(table.LANE_WORKERS, lane.workers, *labels)
            readings.set(table.LANE_PAUSED, lane.is_paused, *labels)

    def _set_counts(self, readings: Readings, counts: Counts) -> None:
        for state, number in counts.states.items():
            readings.set(table.TASKS, number, self._queue, str(state))
        readings.set(table.DEAD_LETTERS, counts.dead, self._queue)
        readings.set(table.UNREADABLE, counts.unreadable, self._queue)
        readings.set(table.SUSPECTS, counts.solo, self._queue)
        readings.set(table.ACCEPTED, counts.counters.get("accepted", 0), self._queue)
        readings.set(table.RECOVERED, counts.counters.get("recovered", 0), self._queue)

    def _set_deliveries(self, readings: Readings, totals: Rollup) -> None:
        queue = self._queue
        for (lane, handler), figures in totals.items():
            for outcome, number in figures.outcomes.items():
                readings.set(table.DELIVERIES, number, queue, lane, handler, outcome)
            for content, size in figures.sizes.items():
                readings.set(table.PAYLOAD, size, queue, content)
            for metric, histogram in ((table.TASK_WAIT, figures.wait), (table.TASK_RECOVERY, figures.recovery)):
                if histogram.count:
                    readings.add_histogram(metric, histogram, queue, lane)
            for outcome, run in figures.runs.items():
                readings.add_histogram(table.TASK_RUN, run, queue, handler)
                readings.add_histogram(table.PROCESS_DURATION, run, *self._of_messaging(lane, outcome))

    def _set_exemplars(self, readings: Readings, totals: Rollup, now_ms: int) -> None:
        queue = self._queue
        for (lane, handler), figures in totals.items():
            for outcome, one in figures.examples.items():
                if abs(now_ms - one.at_ms) > EXEMPLAR_KEPT_MS:
                    continue
                run = Exemplar(one.at_ms, one.micros / 1e6, one.trace_id, one.span_id)
                wait = run._replace(value=one.waited_ms / 1000)
                readings.add_exemplar(table.TASK_WAIT, wait, queue, lane)
                readings.add_exemplar(table.TASK_RUN, run, queue, handler)
                readings.add_exemplar(table.PROCESS_DURATION, run, *self._of_messaging(lane, outcome))

    def _of_messaging(self, lane: str, outcome: str) -> tuple[str, ...]:
        server = semantic_names.of_server(self._store.address())
        at = server.get(semantic_names.SERVER_ADDRESS, ""), server.get(semantic_names.SERVER_PORT, "")
        return HOLDFAST, PROCESS, lane, outcome if outcome in _ERRORS else "", *map(str, at)

    def _set_ledger(self, readings: Readings, ledger: LedgerStatus) -> None:
        readings.set(table.LEDGER_LAG, ledger.behind_ms / 1000, self._queue)
        readings.set(table.LEDGER_WAITING, ledger.waiting, self._queue)


# Reporter decides whether this steward reports the queue. One steward of all hosts does: the one that holds a lease in
# the store.
#
# A steward asks for the lease when it is scraped. It renews the lease as long as scrapes come within SCRAPED_WITHIN. If
# the steward dies, the lease ends, and the next steward that is scraped gets it.

LEASE = 10.0  # seconds
RENEW_EVERY = 3.0  # seconds
SCRAPED_WITHIN = 300.0  # seconds: a steward that was not scraped for this long gives up the lease
GIVE_UP_WITHIN = 0.5  # seconds that giving up the lease may take when the steward ends


class Reporter:
    """This steward's part in the report of the queue. `clock`: monotonic seconds."""

    def __init__(self, store: Store, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._id = uuid4().hex
        self._held_until = self._wanted_until = float("-inf")
        self._scraped = anyio.Event()

    @property
    def has_duty(self) -> bool:
        return self._clock() < self._held_until

    async def ask(self) -> bool:
        """Ask the store for the duty to report the queue; called at each scrape. Returns True if this steward has the
        duty now."""
        self._wanted_until = self._clock() + SCRAPED_WITHIN
        self._scraped.set()
        if not self.has_duty:
            await self._take()
        return self.has_duty

    def duty(self) -> Duty:
        return Duty("report of the queue", self.run_once, self.wait)

    async def run_once(self) -> float:
        if self._clock() < self._wanted_until:
            await self._take()
        else:
            await self._give_up()
        return RENEW_EVERY

    async def wait(self, seconds: float) -> None:
        if self._clock() < self._wanted_until:
            await anyio.sleep(seconds)
        else:
            self._scraped = anyio.Event()
            await self._scraped.wait()

    async def leave(self) -> None:
        """Give up the duty to report the queue, so that another steward can take over this duty at once."""
        with anyio.move_on_after(GIVE_UP_WITHIN, shield=True):
            await self._give_up()

    async def _take(self) -> None:
        asked_at = self._clock()
        taken = await self._store.report_duty(self._id, round(LEASE * 1000))
        self._held_until = asked_at + LEASE if taken else float("-inf")

    async def _give_up(self) -> None:
        if self.has_duty:
            self._held_until = float("-inf")
            await self._store.report_duty(self._id, 0)
