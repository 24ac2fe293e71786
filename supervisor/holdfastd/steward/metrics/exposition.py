"""Spells readings in the formats of Prometheus, through prometheus_client."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, cast

from prometheus_client import Metric as Family
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder
from prometheus_client.registry import Collector
from prometheus_client.samples import Exemplar as Spelled

from holdfast.core.histogram import lower_bound
from holdfast.core.rollup import Histogram
from holdfast.telemetry.metric_table import BOUNDS, Kind, Metric
from holdfast.telemetry.readings import Exemplar, Readings


class _Given(Collector):
    def __init__(self, readings: Readings) -> None:
        self._readings = readings

    def collect(self) -> Iterator[Family]:
        for metric, values in self._readings.values():
            kind = CounterMetricFamily if metric.kind is Kind.COUNTER else GaugeMetricFamily
            family = kind(metric.prometheus_name, metric.meaning, labels=metric.labels)
            for labels, value in values.items():
                family.add_metric(labels, float(value))
            yield family
        for metric, histograms in self._readings.histograms():
            if metric.only_otlp:
                continue
            yield _family(metric, histograms, self._readings)


def exposed(readings: Readings, accept: str) -> tuple[str, bytes]:
    """The content type, by what the client accepts, and the text."""
    encode, content_type = choose_encoder(accept)
    return content_type, encode(_Given(readings))


def cumulative(histogram: Histogram) -> list[tuple[str, float]]:
    """The buckets by their upper bounds. A bucket of ours across a bound counts above it, so a duration seems to be up
    to 9 % longer than it was, never shorter."""
    counts = [0] * (len(BOUNDS) + 1)
    for bucket, number in histogram.buckets.items():
        above = lower_bound(bucket + 1)
        counts[next((at for at, bound in enumerate(BOUNDS) if above <= bound), len(BOUNDS))] += number
    totals = [sum(counts[: at + 1]) for at in range(len(counts))]
    return list(zip([*map(str, BOUNDS), "+Inf"], map(float, totals), strict=True))


def _family(metric: Metric, histograms: dict[tuple[str, ...], Histogram], readings: Readings) -> HistogramMetricFamily:
    family = HistogramMetricFamily(metric.prometheus_name, metric.meaning, labels=metric.labels)
    for labels, histogram in histograms.items():
        exemplars = _by_bucket(readings.exemplars(metric, labels))
        buckets = [(bound, count, exemplars.get(bound)) for bound, count in cumulative(histogram)]
        family.add_metric(labels, cast("Any", buckets), histogram.micros / 1e6)
    return family


def _by_bucket(exemplars: Sequence[Exemplar]) -> dict[str, Spelled]:
    """The newest exemplar of each bucket; only OpenMetrics has them."""
    found: dict[str, Spelled] = {}
    for each in exemplars:
        bound = next((str(bound) for bound in BOUNDS if each.value <= bound), "+Inf")
        ids = {"trace_id": each.trace_id, "span_id": each.span_id}
        found.setdefault(bound, Spelled(ids, each.value, each.at_ms / 1000))
    return found
