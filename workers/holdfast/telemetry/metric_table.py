"""The table of all metrics: name, kind, unit, labels and meaning. Every export reads this table, and docs/telemetry.md
is made from it.

A name has dots, like in OpenTelemetry. The Prometheus name is made from this name and the unit. Every supervisor
reports the metrics of its host, about its own processes. Only one of all stewards reports the metrics of the queue, so
that a sum over hosts counts nothing twice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from holdfast.core.rollup import OTHER, Histogram

MOST_NAMES = 200  # values of one label; all further values are counted as `other`

# Upper bounds in seconds of the buckets of histograms.
BOUNDS = (
    0.001,
    0.0025,
    0.005,
    0.01,
    0.025,
    0.05,
    0.1,
    0.25,
    0.5,
    1.0,
    2.5,
    5.0,
    10.0,
    30.0,
    60.0,
    300.0,
    900.0,
    3600.0,
)


class Kind(StrEnum):
    """The kind of a metric. A `counter` only grows, until its process ends. Values of an `up-down counter` from several
    sources may be added, for example numbers of tasks; Prometheus gets it as a gauge. Values of a `gauge` may not be
    added, for example ages."""

    GAUGE = "gauge"
    UP_DOWN = "up-down counter"
    COUNTER = "counter"
    HISTOGRAM = "histogram"


class Scope(StrEnum):
    HOST = "host"
    QUEUE = "queue"


class Unit(StrEnum):
    """Units in OpenTelemetry's spelling. A unit in braces is only a note: the value is a plain number."""

    SECONDS = "s"
    BYTES = "By"
    PROCESSES = "{process}"
    TASKS = "{task}"
    ENTRIES = "{entry}"
    DELIVERIES = "{delivery}"
    WORKERS = "{worker}"
    SCHEDULES = "{schedule}"
    WEBHOOKS = "{webhook}"
    REQUESTS = "{request}"
    YES = "1"


_SUFFIX = {Unit.SECONDS: "_seconds", Unit.BYTES: "_bytes"}


@dataclass(frozen=True, slots=True)
class Metric:
    """A row of the table. `since_report`: the metric counts from the moment when this steward began to report the
    queue. `only_otlp`: Prometheus does not get this metric, because it has the same metric under another name."""

    scope: Scope
    name: str
    kind: Kind
    unit: Unit
    labels: tuple[str, ...]
    meaning: str
    since_report: bool = False
    only_otlp: bool = False

    @property
    def prometheus_name(self) -> str:
        """The name by Prometheus's conventions: it ends in the unit, and for a counter in `_total`."""
        suffix = _SUFFIX.get(self.unit, "")
        return self.name.replace(".", "_") + suffix + ("_total" if self.kind is Kind.COUNTER else "")

    @property
    def keeps_highest(self) -> bool:
        """True if several values with the same labels are reported as their maximum and not as their sum."""
        return self.kind is Kind.GAUGE and self.unit in {Unit.SECONDS, Unit.YES}


def _host(name: str, kind: Kind, unit: Unit, meaning: str, *labels: str) -> Metric:
    return Metric(Scope.HOST, f"holdfast.{name}", kind, unit, labels, meaning)


def _queue(name: str, kind: Kind, unit: Unit, meaning: str, *labels: str, since_report: bool = False) -> Metric:
    return Metric(Scope.QUEUE, f"holdfast.{name}", kind, unit, ("queue", *labels), meaning, since_report)


SUPERVISOR_INFO = _host(
    "supervisor.info", Kind.GAUGE, Unit.YES, "Always 1; the label has the version of Holdfast.", "version"
)
STORE_UP = _host("store.up", Kind.GAUGE, Unit.YES, "1 if this host's steward has just reached the store.")
REPORTER = _host("reporter", Kind.GAUGE, Unit.YES, "1 if this host's steward reports the metrics of the queue.")
DEGRADED = _host(
    "degraded", Kind.GAUGE, Unit.YES, "1 while something impairs the service; `supervisor status` says what."
)
BREAKER_OPEN = _host(
    "breaker.open",
    Kind.GAUGE,
    Unit.YES,
    "1 while workers die so soon after their start that only one is started at a time.",
)
WORKERS_WANTED = _host("workers.wanted", Kind.UP_DOWN, Unit.WORKERS, "Workers that the supervisor keeps running.")
WORKERS_READY = _host("workers.ready", Kind.UP_DOWN, Unit.WORKERS, "Workers that take tasks now.")
WORKERS_BUSY = _host("workers.busy", Kind.UP_DOWN, Unit.WORKERS, "Workers that run a task.")
HOST_TASKS = _host("host.tasks", Kind.UP_DOWN, Unit.TASKS, "Tasks that run in this host's workers.")
PROCESSES = _host(
    "processes", Kind.UP_DOWN, Unit.PROCESSES, "Processes of the supervisor by kind and state.", "kind", "state"
)
PROCESS_MEMORY = _host("process.memory", Kind.UP_DOWN, Unit.BYTES, "Resident memory of a process.", "process")
PROCESS_CPU = _host(
    "process.cpu", Kind.COUNTER, Unit.SECONDS, "Processor time of a process since its start.", "process"
)
PROCESS_UPTIME = _host("process.uptime", Kind.GAUGE, Unit.SECONDS, "Time since the start of a process.", "process")
PROCESS_RESTARTS = _host(
    "process.restarts", Kind.COUNTER, Unit.PROCESSES, "Times that a process was started again in its slot.", "process"
)
DEATHS = _host(
    "deaths",
    Kind.COUNTER,
    Unit.PROCESSES,
    "Processes that ended, by cause. A process that ended well after an order is not counted.",
    "kind",
    "cause",
)
HOST_RECOVERED = _host(
    "host.recovered",
    Kind.COUNTER,
    Unit.TASKS,
    "Tasks that this host's steward put back, by the cause of their worker's end.",
    "cause",
)

LANE_DEPTH = _queue("lane.depth", Kind.UP_DOWN, Unit.TASKS, "Tasks that wait in a lane.", "lane")
LANE_RUNNING = _queue("lane.running", Kind.UP_DOWN, Unit.TASKS, "Tasks of a lane that workers hold.", "lane")
LANE_OLDEST = _queue(
    "lane.oldest", Kind.GAUGE, Unit.SECONDS, "Age of the task that waits longest in a lane; 0 if none waits.", "lane"
)
LANE_WORKERS = _queue("lane.workers", Kind.GAUGE, Unit.WORKERS, "Live workers of all hosts that serve a lane.", "lane")
LANE_PAUSED = _queue("lane.paused", Kind.GAUGE, Unit.YES, "1 while a lane is paused.", "lane")
TASKS = _queue("tasks", Kind.UP_DOWN, Unit.TASKS, "Tasks that the store keeps, by state.", "state")
DEAD_LETTERS = _queue("dead.letters", Kind.UP_DOWN, Unit.TASKS, "Dead letters that were not retried.")
UNREADABLE = _queue("unreadable", Kind.UP_DOWN, Unit.ENTRIES, "Entries that could not be read and were set aside.")
SUSPECTS = _queue(
    "suspects", Kind.UP_DOWN, Unit.TASKS, "Suspects (tasks that ended two workers) that wait to run alone."
)
DELIVERIES = _queue(
    "deliveries",
    Kind.COUNTER,
    Unit.DELIVERIES,
    "Deliveries that ended, and tasks that ended without a worker, by outcome, since this steward reports the queue.",
    "lane",
    "handler",
    "outcome",
    since_report=True,
)
TASK_WAIT = _queue(
    "task.wait",
    Kind.HISTOGRAM,
    Unit.SECONDS,
    "Time that a task waited: from when a worker could claim it until its claim.",
    "lane",
    since_report=True,
)
TASK_RUN = _queue(
    "task.run", Kind.HISTOGRAM, Unit.SECONDS, "Time for which a handler ran.", "handler", since_report=True
)
TASK_RECOVERY = _queue(
    "task.recovery",
    Kind.HISTOGRAM,
    Unit.SECONDS,
    "Time from the loss of a worker until its task was put back.",
    "lane",
    since_report=True,
)
PROCESS_DURATION = Metric(
    Scope.QUEUE,
    "messaging.process.duration",
    Kind.HISTOGRAM,
    Unit.SECONDS,
    (
        "messaging.system",
        "messaging.operation.name",
        "messaging.destination.name",
        "error.type",
        "server.address",
        "server.port",
    ),
    "Only over OTLP: time for which handlers ran, by lane; `error.type` is the outcome if it is an error.",
    since_report=True,
    only_otlp=True,
)
PAYLOAD = _queue(
    "payload",
    Kind.COUNTER,
    Unit.BYTES,
    "Bytes of the operations and results of deliveries.",
    "content",
    since_report=True,
)
ACCEPTED = _queue("tasks.accepted", Kind.COUNTER, Unit.TASKS, "Tasks that were accepted, since the queue exists.")
RECOVERED = _queue(
    "tasks.recovered", Kind.COUNTER, Unit.TASKS, "Tasks that were put back after the death of their worker."
)
LEASES = _queue(
    "leases", Kind.UP_DOWN, Unit.WORKERS, "Workers of all hosts by the state of their lease: held or silent.", "state"
)
SCHEDULES = _queue("schedules", Kind.UP_DOWN, Unit.SCHEDULES, "Schedules, paused ones included.")
SCHEDULES_LATENESS = _queue(
    "schedules.lateness", Kind.GAUGE, Unit.SECONDS, "Time by which the most overdue schedule is late."
)
WEBHOOKS_WAITING = _queue("webhooks.waiting", Kind.UP_DOWN, Unit.WEBHOOKS, "Webhook calls that were not delivered yet.")
LEDGER_LAG = _queue(
    "ledger.lag", Kind.GAUGE, Unit.SECONDS, "Age of the newest event in PostgreSQL, while Redis has newer ones."
)
LEDGER_WAITING = _queue(
    "ledger.waiting", Kind.UP_DOWN, Unit.REQUESTS, "Requests in PostgreSQL that Redis has not got yet."
)
STORE_MEMORY = _queue("store.memory", Kind.UP_DOWN, Unit.BYTES, "Memory that the store uses.")
STORE_MEMORY_LIMIT = _queue("store.memory.limit", Kind.UP_DOWN, Unit.BYTES, "The store's maxmemory; 0: none is set.")

TABLE: tuple[Metric, ...] = tuple(metric for metric in list(globals().values()) if isinstance(metric, Metric))


# Readings: the values of metrics at one moment, by their labels, before an export formats them.

Labels = tuple[str, ...]
MOST_EXEMPLARS = 4  # of one histogram
LONGEST_NAME = 128  # characters of a label's value


class Exemplar(NamedTuple):
    """A sample of a histogram in seconds, with the ids of its trace and span in hexadecimal."""

    at_ms: int
    value: float
    trace_id: str
    span_id: str


class BoundedNames:
    """Limits the values of one label: the first MOST_NAMES names are kept, and all later names become `other` for good.
    Otherwise a counter could go backwards."""

    def __init__(self, most: int = MOST_NAMES) -> None:
        self._most = most
        self._known: set[str] = set()

    def name(self, given: str) -> str:
        short = given[:LONGEST_NAME]
        if short in self._known:
            return short
        if len(self._known) >= self._most:
            return OTHER
        self._known.add(short)
        return short


class Readings:
    """The values of metrics at one moment. Values with the same metric and labels are added; for ages and for yes-or-no
    values, the highest is kept.

    `report_began_ms`: the Unix time from which metrics `since_report` are counted.
    """

    def __init__(self, report_began_ms: int = 0) -> None:
        self.report_began_ms = report_began_ms
        self._values: dict[Metric, dict[Labels, float]] = {}
        self._histograms: dict[Metric, dict[Labels, Histogram]] = {}
        self._exemplars: dict[Metric, dict[Labels, list[Exemplar]]] = {}

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        values = self._values.setdefault(metric, {})
        before = values.get(labels, 0.0)
        values[labels] = max(before, value) if metric.keeps_highest else before + value

    def add_histogram(self, metric: Metric, histogram: Histogram, *labels: str) -> None:
        assert metric.kind is Kind.HISTOGRAM
        histograms = self._histograms.setdefault(metric, {})
        histograms.setdefault(labels, Histogram()).add(histogram.micros, histogram.buckets)

    def add_exemplar(self, metric: Metric, exemplar: Exemplar, *labels: str) -> None:
        kept = self._exemplars.setdefault(metric, {}).setdefault(labels, [])
        kept.append(exemplar)
        kept.sort(reverse=True)
        del kept[MOST_EXEMPLARS:]

    def exemplars(self, metric: Metric, labels: Labels) -> Sequence[Exemplar]:
        """The newest samples of a histogram that have a span, the newest first."""
        return self._exemplars.get(metric, {}).get(labels, ())

    def values(self) -> Iterator[tuple[Metric, dict[Labels, float]]]:
        yield from self._values.items()

    def histograms(self) -> Iterator[tuple[Metric, dict[Labels, Histogram]]]:
        yield from self._histograms.items()

    def update(self, other: Readings) -> None:
        """Add the readings of other metrics. A metric that both have is taken from `other`."""
        self.report_began_ms = self.report_began_ms or other.report_began_ms
        self._values |= other._values
        self._histograms |= other._histograms
        self._exemplars |= other._exemplars
