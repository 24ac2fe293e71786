"""Pushes the metrics to the OTLP collector every OTEL_METRIC_EXPORT_INTERVAL milliseconds."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import cast

import anyio
import anyio.to_thread
import structlog
from opentelemetry.sdk.metrics import Exemplar as Spelled
from opentelemetry.sdk.metrics import export
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from holdfast.core.rollup import SCALE, Histogram
from holdfast.telemetry.metric_sender import MetricSender
from holdfast.telemetry.metric_table import Exemplar, Kind, Labels, Metric, Readings, Scope, Unit
from holdfast.telemetry.port import GRPC
from holdfast.telemetry.resource import hostless, resource
from holdfast.telemetry.semantic_names import HOLDFAST, SCHEMA_URL, SERVER_PORT
from holdfast.version import installed
from holdfast_config import Settings
from holdfastd.steward.duty import Duty
from holdfastd.steward.metrics.metrics_reader import MetricsReader

# Turns readings into metrics of OpenTelemetry. This module is imported only if an OTLP endpoint is set.

_SCOPE = InstrumentationScope(HOLDFAST, installed(), SCHEMA_URL)
_CUMULATIVE = export.AggregationTemporality.CUMULATIVE
_UNKNOWN = cast("float", None)  # for the shortest and the longest sample, which the encoder then leaves out


class OtlpExposition:
    """The form of readings for OTLP. `resource`: attributes of this process. Metrics of the queue get no attributes of
    the host, because the steward of any host may send them."""

    def __init__(self, resource: Resource) -> None:
        self._resources = {Scope.HOST: resource, Scope.QUEUE: hostless(resource)}

    def metrics_data(self, readings: Readings, now_ns: int | None = None) -> export.MetricsData:
        now = time.time_ns() if now_ns is None else now_ns
        by_scope: dict[Scope, list[export.Metric]] = {scope: [] for scope in Scope}
        for metric, data in _all(readings, now):
            by_scope[metric.scope].append(export.Metric(metric.name, metric.meaning, str(metric.unit), data))
        return export.MetricsData(
            [_of_resource(self._resources[scope], each) for scope, each in by_scope.items() if each]
        )


def _of_resource(resource: Resource, metrics: list[export.Metric]) -> export.ResourceMetrics:
    return export.ResourceMetrics(resource, [export.ScopeMetrics(_SCOPE, metrics, SCHEMA_URL)], resource.schema_url)


def _all(readings: Readings, now: int) -> Iterator[tuple[Metric, export.DataT]]:
    began = readings.report_began_ms * 1_000_000
    for metric, values in readings.values():
        yield metric, _numbers(metric, values, began if metric.since_report else 0, now)
    for metric, histograms in readings.histograms():
        points = [
            _point(_attributes(metric, labels), each, began, now, readings.exemplars(metric, labels))
            for labels, each in histograms.items()
        ]
        yield metric, export.ExponentialHistogram(points, _CUMULATIVE)


def _numbers(metric: Metric, values: Mapping[Labels, float], began: int, now: int) -> export.DataT:
    spell = float if metric.unit is Unit.SECONDS else int
    points = [
        export.NumberDataPoint(_attributes(metric, labels), began, now, spell(value))
        for labels, value in values.items()
    ]
    if metric.kind is Kind.GAUGE:
        return export.Gauge(points)
    return export.Sum(points, _CUMULATIVE, is_monotonic=metric.kind is Kind.COUNTER)


def _point(
    attributes: dict[str, str | int], histogram: Histogram, began: int, now: int, exemplars: Sequence[Exemplar]
) -> export.ExponentialHistogramDataPoint:
    first, last = min(histogram.buckets), max(histogram.buckets)
    counts = [histogram.buckets[bucket] for bucket in range(first, last + 1)]
    return export.ExponentialHistogramDataPoint(
        attributes,
        began,
        now,
        histogram.count,
        histogram.micros / 1e6,
        SCALE,
        zero_count=0,
        positive=export.Buckets(first, counts),
        negative=export.Buckets(0, []),
        flags=0,
        min=_UNKNOWN,
        max=_UNKNOWN,
        exemplars=[
            Spelled({}, each.value, each.at_ms * 1_000_000, int(each.span_id, 16), int(each.trace_id, 16))
            for each in exemplars
        ],
    )


def _attributes(metric: Metric, labels: Labels) -> dict[str, str | int]:
    """The attributes of one series; labels without a value are left out."""
    given = zip(metric.labels, labels, strict=True)
    return {name: int(value) if name == SERVER_PORT else value for name, value in given if value}


INTERVAL_VARIABLE = "OTEL_METRIC_EXPORT_INTERVAL"  # milliseconds
DEFAULT_INTERVAL = 60.0  # seconds: the default of OpenTelemetry's specification
SHORTEST_INTERVAL = 1.0  # seconds
LAST_READING = 1.0  # seconds that the last reading may take at the end of the process

_log = structlog.get_logger("holdfast.steward")


class OtlpPush:
    def __init__(self, reader: MetricsReader, exposition: OtlpExposition, sender: MetricSender, every: float) -> None:
        self._reader = reader
        self._exposition = exposition
        self._sender = sender
        self._every = every

    @classmethod
    def towards(cls, endpoint: str, settings: Settings, reader: MetricsReader) -> OtlpPush:
        sender = MetricSender.towards(endpoint, grpc=settings.otlp_protocol == GRPC)
        return cls(reader, OtlpExposition(resource("holdfast-steward")), sender, interval())

    def duty(self) -> Duty:
        return Duty("metrics over OTLP", self.push)

    async def push(self) -> float:
        self._offer(await self._reader.read())
        return self._every

    async def leave(self) -> None:
        """Push the last values before the process ends."""
        with anyio.move_on_after(LAST_READING, shield=True):
            self._offer(await self._reader.read(fresh=0))
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self._sender.shutdown)

    def _offer(self, readings: Readings) -> None:
        self._sender.offer(self._exposition.metrics_data(readings))


def interval() -> float:
    """Seconds from one push to the next."""
    text = os.environ.get(INTERVAL_VARIABLE, "")
    try:
        return max(SHORTEST_INTERVAL, float(text) / 1000) if text else DEFAULT_INTERVAL
    except ValueError:
        _log.warning(
            "an environment variable is not a number of milliseconds: metrics are sent every minute",
            variable=INTERVAL_VARIABLE,
        )
        return DEFAULT_INTERVAL
