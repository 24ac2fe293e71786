"""Reads the metrics of the queue from the store."""

from __future__ import annotations

from holdfast.core.delivery import Settle
from holdfast.core.lanes import Lanes
from holdfast.core.rollup import MINUTE, Rollup
from holdfast.core.store_info import Gauges
from holdfast.core.tasks import Counts, LedgerStatus
from holdfast.store.protocol import Ledger, Store
from holdfast.telemetry import metric_table as table
from holdfast.telemetry import semantic_names
from holdfast.telemetry.readings import BoundedNames, Exemplar, Readings
from holdfast.telemetry.semantic_names import HOLDFAST, PROCESS
from holdfast_config import Settings
from holdfastd.steward.metrics.delivery_totals import DeliveryTotals

EXEMPLAR_KEPT_MS = 2 * MINUTE
_ERRORS = frozenset({Settle.FAILED, Settle.REJECTED, Settle.EXHAUSTED, Settle.UNREADABLE, Settle.RETRY})


class QueueReport:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._settings = settings
        self._queue = settings.queue_name
        self._lanes = BoundedNames()
        self._totals = self._fresh_totals()

    def forget(self) -> None:
        """Another steward reports the queue: counters begin anew when this one does again."""
        self._totals = self._fresh_totals()

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
        if isinstance(self._store, Ledger):
            self._set_ledger(readings, await self._store.ledger())
        return readings

    def _fresh_totals(self) -> DeliveryTotals:
        return DeliveryTotals(self._lanes, BoundedNames())

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
            if figures.wait.count:
                readings.add_histogram(table.TASK_WAIT, figures.wait, queue, lane)
            if figures.recovery.count:
                readings.add_histogram(table.TASK_RECOVERY, figures.recovery, queue, lane)
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
