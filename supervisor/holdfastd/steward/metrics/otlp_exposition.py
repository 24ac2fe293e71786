"""Spells readings as metrics of OpenTelemetry. Imported only where an endpoint is set."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

from opentelemetry.sdk.metrics import Exemplar as Spelled
from opentelemetry.sdk.metrics.export import (
    AggregationTemporality,
    Buckets,
    DataT,
    ExponentialHistogram,
    ExponentialHistogramDataPoint,
    Gauge,
    MetricsData,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.sdk.metrics.export import Metric as Exported
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from holdfast.core.histogram import SCALE
from holdfast.core.rollup import Histogram
from holdfast.telemetry.metric_table import Kind, Metric, Scope, Unit
from holdfast.telemetry.readings import Exemplar, Labels, Readings
from holdfast.telemetry.resource import hostless
from holdfast.telemetry.semantic_names import HOLDFAST, SCHEMA_URL, SERVER_PORT
from holdfast.version import installed

_SCOPE = InstrumentationScope(HOLDFAST, installed(), SCHEMA_URL)
_CUMULATIVE = AggregationTemporality.CUMULATIVE
_UNKNOWN = cast("float", None)  # the shortest and the longest sample: the encoder leaves them out


class OtlpExposition:
    """`resource`: attributes of this process. Metrics of the queue go without those of the host: any may send them."""

    def __init__(self, resource: Resource) -> None:
        self._resources = {Scope.HOST: resource, Scope.QUEUE: hostless(resource)}

    def metrics_data(self, readings: Readings, now_ns: int | None = None) -> MetricsData:
        now = time.time_ns() if now_ns is None else now_ns
        by_scope: dict[Scope, list[Exported]] = {scope: [] for scope in Scope}
        for metric, data in _all(readings, now):
            by_scope[metric.scope].append(Exported(metric.name, metric.meaning, str(metric.unit), data))
        return MetricsData([_of_resource(self._resources[scope], each) for scope, each in by_scope.items() if each])


def _of_resource(resource: Resource, metrics: list[Exported]) -> ResourceMetrics:
    return ResourceMetrics(resource, [ScopeMetrics(_SCOPE, metrics, SCHEMA_URL)], resource.schema_url)


def _all(readings: Readings, now: int) -> Iterator[tuple[Metric, DataT]]:
    began = readings.report_began_ms * 1_000_000
    for metric, values in readings.values():
        yield metric, _numbers(metric, values, began if metric.since_report else 0, now)
    for metric, histograms in readings.histograms():
        points = [
            _point(_attributes(metric, labels), each, began, now, readings.exemplars(metric, labels))
            for labels, each in histograms.items()
        ]
        yield metric, ExponentialHistogram(points, _CUMULATIVE)


def _numbers(metric: Metric, values: Mapping[Labels, float], began: int, now: int) -> DataT:
    spell = float if metric.unit is Unit.SECONDS else int
    points = [
        NumberDataPoint(_attributes(metric, labels), began, now, spell(value)) for labels, value in values.items()
    ]
    if metric.kind is Kind.GAUGE:
        return Gauge(points)
    return Sum(points, _CUMULATIVE, is_monotonic=metric.kind is Kind.COUNTER)


def _point(
    attributes: dict[str, str | int], histogram: Histogram, began: int, now: int, exemplars: Sequence[Exemplar]
) -> ExponentialHistogramDataPoint:
    first, last = min(histogram.buckets), max(histogram.buckets)
    counts = [histogram.buckets[bucket] for bucket in range(first, last + 1)]
    return ExponentialHistogramDataPoint(
        attributes,
        began,
        now,
        histogram.count,
        histogram.micros / 1e6,
        SCALE,
        zero_count=0,
        positive=Buckets(first, counts),
        negative=Buckets(0, []),
        flags=0,
        min=_UNKNOWN,
        max=_UNKNOWN,
        exemplars=[_exemplar(each) for each in exemplars],
    )


def _exemplar(given: Exemplar) -> Spelled:
    return Spelled({}, given.value, given.at_ms * 1_000_000, int(given.span_id, 16), int(given.trace_id, 16))


def _attributes(metric: Metric, labels: Labels) -> dict[str, str | int]:
    """Those that have a value."""
    given = zip(metric.labels, labels, strict=True)
    return {name: int(value) if name == SERVER_PORT else value for name, value in given if value}
