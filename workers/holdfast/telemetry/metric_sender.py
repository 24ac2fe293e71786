"""MetricSender sends metrics to the collector from a thread, so that `offer` returns at once.

The sender keeps one set of metrics. If the collector is slow, a newer set replaces the waiting one. No count is lost,
because the newer set has newer values of the same counters.
"""

from __future__ import annotations

import logging
import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from threading import Event, Thread
from typing import Any, NamedTuple, TypeAlias

from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Buckets,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Metric,
    MetricExporter,
    MetricExportResult,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)

from holdfast.telemetry.logs import SHUTDOWN_SECONDS
from holdfast_config import library_log

# Make deltas of metrics for collectors that want them. A delta is the difference from the values that the collector
# took last.
#
# The first values of a process are the base of its deltas and are not sent: another process has already reported what
# was counted before. If another steward has reported a metric in between, the first values are a new base, too.

VARIABLE = "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE"
# The kinds of metrics that are sent as deltas, by the variable's value. For `lowmemory` our counters stay cumulative,
# because the OpenTelemetry standard says so for asynchronous counters, and ours are such.
PREFERENCES: dict[str, tuple[type, ...]] = {
    "cumulative": (),
    "delta": (Sum, ExponentialHistogram),
    "lowmemory": (ExponentialHistogram,),
}

_service_log = library_log.get_logger("holdfast.telemetry")

Point: TypeAlias = NumberDataPoint | ExponentialHistogramDataPoint
Labels: TypeAlias = frozenset[tuple[str, Any]]


class Key(NamedTuple):
    resource: Labels
    metric: str
    attributes: Labels


class MetricDeltas:
    """Makes deltas of metrics. `kinds`: the kinds that are sent as deltas; all others stay cumulative."""

    def __init__(self, kinds: tuple[type, ...]) -> None:
        self._kinds = kinds
        self._taken: dict[Key, Point] = {}
        self._resources: dict[Labels, int] = {}  # by resource: the time of the values that were taken last, in ns
        self._offered: dict[Key, Point] = {}

    @classmethod
    def preferred(cls) -> MetricDeltas | None:
        """The deltas that OpenTelemetry's environment variable asks for; None if all metrics stay cumulative."""
        wanted = os.environ.get(VARIABLE, "").strip().lower() or "cumulative"
        if wanted not in PREFERENCES:
            allowed = ", ".join(PREFERENCES)
            _service_log.warning(
                "an environment variable has an unknown value: metrics are cumulative",
                variable=VARIABLE,
                allowed=allowed,
            )
        kinds = PREFERENCES.get(wanted, ())
        return cls(kinds) if kinds else None

    def since_taken(self, metrics: MetricsData) -> MetricsData:
        """The metrics with deltas from the values that the collector has taken last."""
        self._offered = dict(self._points(metrics))
        present = {_labels(each): _moment(each) for each in metrics.resource_metrics}
        self._taken = {key: point for key, point in self._taken.items() if key.resource in present}
        self._taken |= {key: point for key, point in self._offered.items() if self._begins(key, point)}
        self._resources = {each: self._resources.get(each, at_ns) for each, at_ns in present.items()}
        return MetricsData([self._of_resource(each) for each in metrics.resource_metrics])

    def taken(self) -> None:
        """Record that the collector has taken the values of the last `since_taken`."""
        self._taken |= self._offered
        for key, point in self._offered.items():
            self._resources[key.resource] = point.time_unix_nano

    def _begins(self, key: Key, point: Point) -> bool:
        """True if this value is a new base: its resource is reported for the first time, or the counter began again."""
        before = self._taken.get(key)
        if before is None:
            return key.resource not in self._resources
        return before.start_time_unix_nano != point.start_time_unix_nano

    def _points(self, metrics: MetricsData) -> Iterator[tuple[Key, Point]]:
        for resource in metrics.resource_metrics:
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    for point in self._counted(metric):
                        yield _key(resource, metric, point), point

    def _counted(self, metric: Metric) -> Sequence[Point]:
        """The points of a metric that is sent as deltas; empty for any other metric."""
        data = metric.data
        if isinstance(data, Sum) and not data.is_monotonic:
            return ()  # by the OpenTelemetry standard up-down counters are always cumulative
        if isinstance(data, Sum | ExponentialHistogram) and isinstance(data, self._kinds):
            return data.data_points
        return ()

    def _of_resource(self, resource: ResourceMetrics) -> ResourceMetrics:
        return replace(resource, scope_metrics=[self._of_scope(resource, each) for each in resource.scope_metrics])

    def _of_scope(self, resource: ResourceMetrics, scope: ScopeMetrics) -> ScopeMetrics:
        metrics = [found for each in scope.metrics if (found := self._of_metric(resource, each))]
        return replace(scope, metrics=metrics)

    def _of_metric(self, resource: ResourceMetrics, metric: Metric) -> Metric | None:
        """The delta of a metric; None if it has not changed."""
        counted = self._counted(metric)
        if not counted:
            return metric
        changed: Any = [found for each in counted if (found := self._since(_key(resource, metric, each), each))]
        data: Any = metric.data
        delta = replace(data, data_points=changed, aggregation_temporality=AggregationTemporality.DELTA)
        return replace(metric, data=delta) if changed else None

    def _since(self, key: Key, point: Point) -> Point | None:
        """The delta of a point; None if it has not changed."""
        began, before = replace(point, start_time_unix_nano=self._resources[key.resource]), self._taken.get(key)
        if isinstance(began, NumberDataPoint) and isinstance(before, NumberDataPoint):
            return _number(began, before)
        if isinstance(began, ExponentialHistogramDataPoint) and isinstance(before, ExponentialHistogramDataPoint):
            return _histogram(began, before)
        return began


def _labels(resource: ResourceMetrics) -> Labels:
    return frozenset(resource.resource.attributes.items())


def _moment(resource: ResourceMetrics) -> int:
    """The time of the resource's latest value in Unix nanoseconds; 0 if it has no values."""
    points = (
        point for scope in resource.scope_metrics for metric in scope.metrics for point in metric.data.data_points
    )
    return max((point.time_unix_nano for point in points), default=0)


def _key(resource: ResourceMetrics, metric: Metric, point: Point) -> Key:
    return Key(_labels(resource), metric.name, frozenset((point.attributes or {}).items()))


def _number(point: NumberDataPoint, before: NumberDataPoint) -> NumberDataPoint | None:
    """The difference between two values of a counter; None if they are equal. If the new value is smaller, the counter
    began again, and the new value is the difference."""
    if point.value < before.value:
        return point
    return replace(point, value=point.value - before.value) if point.value > before.value else None


def _histogram(
    point: ExponentialHistogramDataPoint, before: ExponentialHistogramDataPoint
) -> ExponentialHistogramDataPoint | None:
    counts = _counts(point)
    counts.subtract(_counts(before))
    if min(counts.values()) < 0:
        return point
    buckets = [bucket for bucket, count in counts.items() if count]
    if not buckets:
        return None
    first, last = min(buckets), max(buckets)
    return replace(
        point,
        count=point.count - before.count,
        sum=point.sum - before.sum,
        positive=Buckets(first, [counts[bucket] for bucket in range(first, last + 1)]),
        exemplars=[each for each in point.exemplars if each.time_unix_nano > point.start_time_unix_nano],
    )


def _counts(point: ExponentialHistogramDataPoint) -> Counter[int]:
    return Counter(dict(enumerate(point.positive.bucket_counts, point.positive.offset)))


_OWN_ENDPOINT = "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT"  # OpenTelemetry's variable for an endpoint that gets metrics only

_log = logging.getLogger(__name__)


class MetricSender:
    """Sends the newest offered metrics from a thread of its own. `deltas` makes deltas of metrics; None: metrics are
    sent unchanged."""

    def __init__(self, exporter: MetricExporter, deltas: MetricDeltas | None = None) -> None:
        self._exporter = exporter
        self._deltas = deltas
        self._newest: MetricsData | None = None
        self._wanted = Event()
        self._ends = False
        self._thread = Thread(target=self._run, name="metrics over OTLP", daemon=True)
        self._thread.start()

    @classmethod
    def towards(cls, endpoint: str, *, grpc: bool) -> MetricSender:
        """A sender to the collector at `endpoint`."""
        return cls(_grpc(endpoint) if grpc else _http(endpoint), MetricDeltas.preferred())

    def offer(self, metrics: MetricsData) -> None:
        self._newest = metrics
        self._wanted.set()

    def shutdown(self, seconds: float = SHUTDOWN_SECONDS) -> None:
        """Send the last offered metrics and end the thread. Returns within `seconds`, even if the collector is away."""
        self._ends = True
        self._wanted.set()
        self._thread.join(seconds)

    def _run(self) -> None:
        while not self._ends:
            self._wanted.wait()
            self._wanted.clear()
            metrics, self._newest = self._newest, None
            if metrics is not None:
                self._send(metrics)
        if (last := self._newest) is not None:
            self._send(last)

    def _send(self, metrics: MetricsData) -> None:
        try:
            given = metrics if self._deltas is None else self._deltas.since_taken(metrics)
            result = self._exporter.export(given)  # pyright: ignore[reportUnknownMemberType]  # **kwargs without a type
            if self._deltas is not None and result is MetricExportResult.SUCCESS:
                self._deltas.taken()
        except Exception:
            _log.exception("metrics could not be sent to the collector")


def _http(endpoint: str) -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter

    return OTLPMetricExporter(os.environ.get(_OWN_ENDPOINT) or f"{endpoint.rstrip('/')}/v1/metrics")


def _grpc(endpoint: str) -> MetricExporter:
    from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter

    return OTLPMetricExporter(os.environ.get(_OWN_ENDPOINT) or endpoint)
