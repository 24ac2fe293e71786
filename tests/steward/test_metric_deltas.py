"""Deltas of metrics: together they are what the collector would have from cumulative ones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.metrics.export import AggregationTemporality, MetricsData
from opentelemetry.sdk.resources import Resource
from structlog.testing import capture_logs

from holdfast.core.rollup import Histogram
from holdfast.telemetry import metric_table as table
from holdfast.telemetry.metric_sender import PREFERENCES, VARIABLE, MetricDeltas
from holdfast.telemetry.metric_table import Exemplar, Readings
from holdfastd.steward.metrics.otlp_push import OtlpExposition

BEGAN_MS = 1000
EXPOSITION = OtlpExposition(Resource({"service.name": "s", "host.name": "h"}))
DELIVERIES = ("q", "lane", "mail", "completed")


def at(second: int, readings: Readings) -> MetricsData:
    return EXPOSITION.metrics_data(readings, second * 10**9)


def delivered(number: int, buckets: dict[int, int] | None = None, began_ms: int = BEGAN_MS) -> Readings:
    readings = Readings(began_ms)
    readings.set(table.DELIVERIES, number, *DELIVERIES)
    readings.set(table.LANE_DEPTH, 7, "q", "lane")
    if buckets:
        readings.add_histogram(table.TASK_RUN, Histogram(1000 * sum(buckets.values()), Counter(buckets)), "q", "mail")
    return readings


def points(metrics: MetricsData, name: str = "holdfast.deliveries") -> list[Any]:
    return [point for metric in _metrics(metrics) if metric.name == name for point in metric.data.data_points]


def _metrics(metrics: MetricsData) -> Iterator[Any]:
    for resource in metrics.resource_metrics:
        for scope in resource.scope_metrics:
            yield from scope.metrics


def deltas() -> MetricDeltas:
    return MetricDeltas(PREFERENCES["delta"])


def test_the_first_values_are_where_deltas_begin() -> None:
    since = deltas()
    assert points(since.since_taken(at(10, delivered(5)))) == []
    since.taken()
    [point] = points(since.since_taken(at(20, delivered(8))))
    assert (point.value, point.start_time_unix_nano, point.time_unix_nano) == (3, 10 * 10**9, 20 * 10**9)


def test_what_was_not_there_at_the_first_values_counts_whole() -> None:
    since, empty = deltas(), Readings(BEGAN_MS)
    empty.set(table.LANE_DEPTH, 0, "q", "lane")
    since.since_taken(at(10, empty))
    since.taken()
    [point] = points(since.since_taken(at(20, delivered(3))))
    assert (point.value, point.start_time_unix_nano) == (3, 10 * 10**9)


def test_what_a_collector_did_not_take_comes_with_the_next() -> None:
    since = deltas()
    since.since_taken(at(10, delivered(5)))
    since.since_taken(at(20, delivered(8)))
    [point] = points(since.since_taken(at(30, delivered(9))))
    assert (point.value, point.start_time_unix_nano) == (4, 10 * 10**9)


def test_what_is_new_counts_whole_and_what_began_anew_too() -> None:
    since, readings = deltas(), delivered(5)
    since.since_taken(at(10, readings))
    since.taken()
    readings.set(table.DELIVERIES, 4, "q", "lane", "mail", "failed")
    assert [point.value for point in points(since.since_taken(at(20, readings)))] == [4]
    since.taken()
    assert [point.value for point in points(since.since_taken(at(30, delivered(2))))] == [2]


@pytest.mark.parametrize("gap", [[Readings()], []])
def test_after_another_steward_has_reported_deltas_begin_anew(gap: list[Readings]) -> None:
    """Its readings have another beginning, or there were none of the queue meanwhile."""
    since = deltas()
    for second, readings in enumerate([delivered(5), *gap], 1):
        since.since_taken(at(second, readings))
        since.taken()
    began_ms = BEGAN_MS if gap else 2000
    assert points(since.since_taken(at(20, delivered(90, began_ms=began_ms)))) == []
    since.taken()
    [point] = points(since.since_taken(at(30, delivered(91, began_ms=began_ms))))
    assert point.value == 1


def test_gauges_and_up_down_counters_stay_as_they_are() -> None:
    """As the standard has it: a collector that missed a delta would have a wrong depth for ever."""
    since = deltas()
    for second in (10, 20):
        readings = delivered(5)
        readings.set(table.LANE_OLDEST, 3, "q", "lane")
        metrics = since.since_taken(at(second, readings))
        assert [point.value for point in points(metrics, "holdfast.lane.depth")] == [7]
        assert [point.value for point in points(metrics, "holdfast.lane.oldest")] == [3]
        [depth] = [each.data for each in _metrics(metrics) if each.name == "holdfast.lane.depth"]
        assert (depth.is_monotonic, depth.aggregation_temporality) == (False, AggregationTemporality.CUMULATIVE)
        since.taken()


def test_with_lowmemory_counters_are_cumulative_and_histograms_deltas() -> None:
    since = MetricDeltas(PREFERENCES["lowmemory"])
    for second, number in ((10, 5), (20, 8)):
        metrics = since.since_taken(at(second, delivered(number, {1: number})))
        since.taken()
    assert [point.value for point in points(metrics)] == [8]
    assert [point.count for point in points(metrics, "holdfast.task.run")] == [3]
    assert {
        metric.name: metric.data.aggregation_temporality
        for metric in _metrics(metrics)
        if hasattr(metric.data, "aggregation_temporality")
    } == {
        "holdfast.lane.depth": AggregationTemporality.CUMULATIVE,
        "holdfast.deliveries": AggregationTemporality.CUMULATIVE,
        "holdfast.task.run": AggregationTemporality.DELTA,
    }


def test_a_delta_has_the_exemplars_of_its_time() -> None:
    since = deltas()
    since.since_taken(at(10, delivered(1, {1: 1})))
    since.taken()
    readings = delivered(2, {1: 2})
    for at_ms in (9_000, 15_000):
        readings.add_exemplar(table.TASK_RUN, Exemplar(at_ms, 1.0, "ab" * 16, "cd" * 8), "q", "mail")
    [point] = points(since.since_taken(at(20, readings)), "holdfast.task.run")
    assert [each.time_unix_nano for each in point.exemplars] == [15 * 10**9]


STEPS = st.lists(
    st.tuples(st.dictionaries(st.integers(-20, 20), st.integers(1, 9), max_size=4), st.booleans()),
    min_size=1,
    max_size=9,
)


@given(STEPS)
def test_deltas_add_up_to_what_came(steps: list[tuple[dict[int, int], bool]]) -> None:
    """Whichever of them the collector takes; the last one it does."""
    since, total = deltas(), Counter({0: 1})
    since.since_taken(at(1, delivered(1, dict(total))))
    since.taken()
    deliveries, seconds, buckets = 0, 0.0, Counter[int]()
    for second, (fresh, is_taken) in enumerate([*steps, ({}, True)], 2):
        total.update(fresh)
        metrics = since.since_taken(at(second, delivered(total.total(), dict(total))))
        if not is_taken:
            continue
        since.taken()
        deliveries += sum(point.value for point in points(metrics))
        for point in points(metrics, "holdfast.task.run"):
            assert point.count == sum(point.positive.bucket_counts)
            seconds += point.sum
            buckets.update(dict(enumerate(point.positive.bucket_counts, point.positive.offset)))
    total.subtract({0: 1})
    assert deliveries == total.total()
    assert +buckets == +total
    assert seconds == pytest.approx(total.total() / 1000)


@pytest.mark.parametrize(
    ("value", "is_delta"), [("", False), ("cumulative", False), ("Delta", True), ("LOWMEMORY", True)]
)
def test_the_variable_chooses(monkeypatch: pytest.MonkeyPatch, value: str, is_delta: bool) -> None:
    monkeypatch.setenv(VARIABLE, value)
    assert (MetricDeltas.preferred() is not None) == is_delta


def test_a_value_that_is_none_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "sometimes")
    with capture_logs() as lines:
        assert MetricDeltas.preferred() is None
    assert [(line["variable"], line["allowed"]) for line in lines] == [(VARIABLE, "cumulative, delta, lowmemory")]
