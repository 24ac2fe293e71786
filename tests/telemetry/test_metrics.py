"""Metrics over OTLP, as a collector gets them from a real supervisor."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality, Metric
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from holdfast.telemetry.metric_table import MOST_EXEMPLARS, TABLE, Kind
from tests.cli.commands import ROOT, Cli
from tests.cli.conftest import running
from tests.cli.scraping import Scraper
from tests.telemetry.metric_points import newest, value
from tests.telemetry.receiver import GRPC, HTTP, Mode, Receiver, Signal, attributes, receiving

OFTEN = {"OTEL_METRIC_EXPORT_INTERVAL": "1000"}
LANE = "bindu:tasks"
OF_LEDGER = {"holdfast.ledger.lag", "holdfast.ledger.waiting"}
KINDS = {
    Kind.GAUGE: "gauge",
    Kind.UP_DOWN: "sum",
    Kind.COUNTER: "sum",
    Kind.HISTOGRAM: "exponential_histogram",
}
LATER = {"holdfast.host.recovered", "holdfast.task.recovery"}


@contextmanager
def started(
    receiver: Receiver, handler: str = "examples.wordcount:handle", **variables: str
) -> Iterator[tuple[Cli, Scraper]]:
    """Two workers that send telemetry to the receiver; served for Prometheus, too."""
    with TemporaryDirectory(prefix="holdfast-") as folder:
        place = Path(folder) / "metrics.sock"
        words = (handler, "--app-dir", str(ROOT), "--workers", "2", "--metrics", f"unix:{place}")
        with running(Path(folder), *words, environ=receiver.environ | OFTEN | variables) as (cli, _):
            yield cli, Scraper(place)


@pytest.fixture(scope="module", params=[HTTP, GRPC])
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    with receiving(request.param) as receiver:
        yield receiver


@pytest.fixture(scope="module")
def pool(receiver: Receiver) -> Iterator[tuple[Cli, Scraper]]:
    with started(receiver, OTEL_RESOURCE_ATTRIBUTES="deployment.environment.name=test") as found:
        yield found


def completed(receiver: Receiver) -> float:
    return max(0.0, value(receiver, "holdfast.deliveries", outcome="completed", lane=LANE))


def count(receiver: Receiver, name: str) -> int:
    """The number of samples of a histogram."""
    return getattr(newest(receiver, name), "count", 0)


def pids(cli: Cli, kind: str) -> list[int]:
    return [process["pid"] for process in cli("status", "--json").document["processes"] if process["kind"] == kind]


def test_a_collector_gets_the_metrics_that_prometheus_gets(pool: tuple[Cli, Scraper], receiver: Receiver) -> None:
    cli, scraper = pool
    assert cli("submit", "a", "b c", "d", "--wait").status == 0
    receiver.until(lambda: completed(receiver) == 3)
    receiver.until(lambda: count(receiver, "holdfast.task.run") == count(receiver, "holdfast.task.wait") == 3)
    sent = {metric.name: metric for metric in receiver.metrics()}
    assert sorted(sent) == sorted(metric.name for metric in TABLE if metric.name not in OF_LEDGER | LATER)
    for metric in TABLE:
        if each := sent.get(metric.name):
            assert (each.WhichOneof("data"), each.unit, each.description) == (
                KINDS[metric.kind],
                metric.unit,
                metric.meaning,
            )
            assert each.sum.is_monotonic == (metric.kind is Kind.COUNTER)
    scrape = scraper.until(lambda now: now.value("holdfast_task_run_seconds_count") == 3)
    assert scrape.value("holdfast_task_run_seconds_sum") == newest(receiver, "holdfast.task.run").sum
    assert not [name for name, _, _ in scrape.samples if name.startswith("messaging")]


def test_histograms_have_the_ids_of_spans(pool: tuple[Cli, Scraper], receiver: Receiver) -> None:
    """As exemplars; for Prometheus those that ask for OpenMetrics get them."""
    cli, scraper = pool
    assert cli("submit", "a", "b c", "--wait").status == 0
    for name in ("holdfast.task.run", "holdfast.task.wait", "messaging.process.duration"):
        exemplars = receiver.until(lambda name=name: getattr(newest(receiver, name), "exemplars", None))
        assert 0 < len(exemplars) <= MOST_EXEMPLARS
        point = newest(receiver, name)
        for each in exemplars:
            assert receiver.until(lambda each=each: find(process_spans(receiver), each))
            assert 0 <= each.as_double <= point.sum + 0.001
            assert point.time_unix_nano - 300e9 < each.time_unix_nano <= point.time_unix_nano
    pattern = re.compile(
        r'holdfast_task_run_seconds_bucket\{.*le="([^"]+)".*\} \S+ # \{span_id="(\w+)",trace_id="(\w+)"\} (\S+)'
    )
    _, text = scraper.get("/metrics", Accept="application/openmetrics-text; version=1.0.0")
    found = pattern.findall(text)
    assert found
    for bound, span_id, trace_id, seconds in found:
        assert float(seconds) <= float(bound)
        ids = (span_id, trace_id)
        assert receiver.until(lambda ids=ids: ids in {_ids(span) for span in process_spans(receiver)})
    assert "# {" not in scraper.get("/metrics")[1]


def _ids(span: Span) -> tuple[str, str]:
    return span.span_id.hex(), span.trace_id.hex()


def process_spans(receiver: Receiver) -> list[Span]:
    return [span for span in receiver.spans() if span.name == f"process {LANE}"]


def find(spans: list[Span], exemplar: Any) -> Span | None:
    return next(
        (each for each in spans if (each.span_id, each.trace_id) == (exemplar.span_id, exemplar.trace_id)), None
    )


def test_histograms_are_exponential_and_counters_cumulative(pool: tuple[Cli, Scraper], receiver: Receiver) -> None:
    cli, _ = pool
    assert cli("submit", "a", "b c", "--wait").status == 0
    point = receiver.until(lambda: newest(receiver, "messaging.process.duration", **{"messaging.system": "holdfast"}))
    assert point.scale == 3
    assert point.count == sum(point.positive.bucket_counts)
    assert 2 ** (point.positive.offset / 8) <= point.sum
    assert not point.HasField("min")
    assert 0 < point.start_time_unix_nano < point.time_unix_nano
    counter = next(each for each in receiver.metrics() if each.name == "holdfast.deliveries").sum
    assert counter.is_monotonic
    assert counter.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_CUMULATIVE


def test_metrics_of_the_queue_name_no_host_and_those_of_a_host_do(
    pool: tuple[Cli, Scraper], receiver: Receiver
) -> None:
    receiver.until(lambda: newest(receiver, "holdfast.lane.depth", lane=LANE))
    resources = {received.item.name: received.resource for received in receiver.metrics_with_resource()}
    queue, host = resources["holdfast.lane.depth"], resources["holdfast.workers.ready"]
    assert queue["service.name"] == host["service.name"] == "holdfast-steward"
    assert queue["deployment.environment.name"] == host["deployment.environment.name"] == "test"
    assert "host.name" in host
    assert {"host.name", "service.instance.id"}.isdisjoint(queue)


def test_metrics_go_on_after_a_time_without_a_collector(pool: tuple[Cli, Scraper], receiver: Receiver) -> None:
    cli, _ = pool
    receiver.until(lambda: newest(receiver, "holdfast.lane.depth"))
    before = completed(receiver)
    receiver.become(Mode.HANGS)
    receiver.until(lambda: receiver.requests[Mode.HANGS, Signal.METRICS])
    assert cli("submit", "a", "b", "c", "--wait").status == 0
    receiver.become(Mode.ANSWERS_500)
    receiver.until(lambda: receiver.requests[Mode.ANSWERS_500, Signal.METRICS])
    receiver.become(Mode.NORMAL)
    receiver.until(lambda: completed(receiver) >= before + 3)


def test_a_killed_worker_and_a_new_steward_are_seen(pool: tuple[Cli, Scraper], receiver: Receiver) -> None:
    cli, _ = pool
    receiver.until(lambda: value(receiver, "holdfast.deaths", kind="worker", cause="signal") == 0)
    os.kill(pids(cli, "worker")[0], signal.SIGKILL)
    receiver.until(lambda: value(receiver, "holdfast.deaths", kind="worker", cause="signal") == 1)
    os.kill(pids(cli, "steward")[0], signal.SIGKILL)
    receiver.until(lambda: value(receiver, "holdfast.process.restarts", process="steward") == 1)
    receiver.until(lambda: value(receiver, "holdfast.reporter") == 1)


def test_the_time_of_a_recovery_and_its_cause_are_sent() -> None:
    with receiving() as receiver, started(receiver, "tests.telemetry.handlers:dies_once") as (cli, _):
        assert cli("submit", "a", "--wait").status == 0
        receiver.until(lambda: count(receiver, "holdfast.task.recovery") == 1)
        receiver.until(lambda: value(receiver, "holdfast.host.recovered", cause="signal") == 1)


def test_the_last_values_are_sent_at_the_end() -> None:
    with receiving() as receiver:
        with started(receiver, OTEL_METRIC_EXPORT_INTERVAL="3600000") as (cli, _):
            receiver.until(lambda: newest(receiver, "holdfast.lane.depth"))
            assert cli("submit", "a", "b", "--wait").status == 0
            assert completed(receiver) == 0
        receiver.until(lambda: completed(receiver) == 2)


def test_deltas_add_up_over_a_collector_that_fails() -> None:
    with (
        receiving() as receiver,
        started(receiver, OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE="delta") as (cli, _),
    ):
        receiver.until(lambda: newest(receiver, "holdfast.lane.depth"))
        assert cli("submit", "a", "b", "c", "--wait").status == 0
        receiver.until(lambda: sum_of_deltas(receiver) == 3)
        receiver.become(Mode.ANSWERS_500)
        receiver.until(lambda: receiver.requests[Mode.ANSWERS_500, Signal.METRICS])
        assert cli("submit", "d", "e", "--wait").status == 0
        receiver.become(Mode.NORMAL)
        receiver.until(lambda: sum_of_deltas(receiver) == 5)
        runs = receiver.until(lambda: sum_of_runs(receiver) == 5 and found(receiver, "holdfast.task.run"))
        delta = AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
        assert {metric.exponential_histogram.aggregation_temporality for metric in runs} == {delta}
        assert {metric.sum.aggregation_temporality for metric in found(receiver, "holdfast.deliveries")} == {delta}


def found(receiver: Receiver, name: str) -> list[Metric]:
    return [metric for metric in receiver.metrics() if metric.name == name]


def sum_of_deltas(receiver: Receiver) -> int:
    sent = [point for metric in found(receiver, "holdfast.deliveries") for point in metric.sum.data_points]
    return sum(point.as_int for point in sent if attributes(point.attributes)["outcome"] == "completed")


def sum_of_runs(receiver: Receiver) -> int:
    return sum(
        point.count
        for metric in found(receiver, "holdfast.task.run")
        for point in metric.exponential_histogram.data_points
    )
