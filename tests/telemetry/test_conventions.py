"""Telemetry names the version of its conventions and of Holdfast, and has the attributes that the conventions want."""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from anyio import to_thread
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.semconv.schemas import Schemas

from holdfast.client.manager import TaskManager
from holdfast.core.rollup import Histogram
from holdfast.core.store_info import ServerAddress
from holdfast.store.memory import MemoryStore
from holdfast.store.redis import RedisStore
from holdfast.telemetry import metric_table as table
from holdfast.telemetry import semantic_names
from holdfast.telemetry.metric_table import Readings
from holdfast.telemetry.resource import resource
from holdfast.telemetry.semantic_names import HOLDFAST, SCHEMA_URL
from holdfast.telemetry.submit_spans import SubmitSpans
from holdfast.version import installed
from holdfast_config import RedisSettings
from holdfastd.steward.metrics.otlp_push import OtlpExposition
from tests.faults.scene import stage
from tests.faults.work import QUEUE
from tests.telemetry import two_hosts
from tests.telemetry.metric_points import newest
from tests.telemetry.receiver import GRPC, HTTP, Origin, Received, Receiver, attributes, receiving
from tests.telemetry.test_metrics import LANE, started

OURS = Origin(HOLDFAST, installed(), SCHEMA_URL, SCHEMA_URL)

# Of each operation its type and the kind of its span: docs/messaging/messaging-spans.md of the conventions.
OPERATIONS = {
    "create": ("create", Span.SPAN_KIND_PRODUCER),
    "fire": ("send", Span.SPAN_KIND_PRODUCER),
    "send": ("send", Span.SPAN_KIND_PRODUCER),
    "process": ("process", Span.SPAN_KIND_CONSUMER),
}
OF_CONVENTIONS = ("messaging.", "error.", "exception.", "server.")


@pytest.fixture(params=[HTTP, GRPC])
def receiver(request: pytest.FixtureRequest) -> Iterator[Receiver]:
    with receiving(request.param) as receiver:
        yield receiver


def test_each_signal_names_its_schema_its_scope_and_the_version(receiver: Receiver) -> None:
    with started(receiver) as (cli, _):
        assert cli("submit", "a", "--wait").status == 0
        receiver.until(lambda: newest(receiver, "messaging.process.duration"))
        receiver.until(lambda: [span for span in receiver.spans() if span.name == f"process {LANE}"])
        receiver.until(receiver.logs)
        socket = str(cli.folder / "run/store.sock")
    for received in (*receiver.metrics_with_resource(), *receiver.spans_with_resource()):
        assert received.origin == OURS
        assert received.resource["service.version"] == installed()
    for received in receiver.logs_with_resource():
        assert received.resource["service.version"] == installed()
        assert received.origin == OURS._replace(name=received.origin.name)
        assert received.origin.name.startswith("holdfast.")
    [process] = [attributes(span.attributes) for span in receiver.spans() if span.name == f"process {LANE}"]
    measured = attributes(newest(receiver, "messaging.process.duration").attributes)
    for told in (process, measured):
        assert told["server.address"] == socket
        assert "server.port" not in told, "a socket has none"


@pytest.mark.anyio
async def test_the_spans_of_each_operation_have_what_the_conventions_want(short_path: Path) -> None:
    with receiving() as receiver:
        settings: dict[str, Any] = {"handler": "tests.telemetry.traced:act", "otlp_endpoint": receiver.endpoint}
        async with stage(short_path, workers=1, **settings) as scene:
            await to_thread.run_sync(two_hosts.submit, scene, receiver, "alone=echo")
            await to_thread.run_sync(two_hosts.submit, scene, receiver, "first=echo", "second=child")
            await TaskManager(scene.store, queue=QUEUE).schedules.upsert("now", schedule="NOW", text="echo")
            _, pid = scene.started("second")
            receiver.until(lambda: len(tasks(receiver, "process")) == 3)  # sent, before their worker is killed
            os.kill(pid, signal.SIGKILL)
            scene.started("second")
            scene.go("second")
            for task_id in ("alone", "first", "second"):
                await scene.completed(task_id)
            receiver.until(lambda: len(of(receiver, "process")) == 5 and of(receiver, "fire"))
            where = scene.url
    for name, (kind_of_operation, kind) in OPERATIONS.items():
        assert of(receiver, name), name
        for received in of(receiver, name):
            span, told = received.item, attributes(received.item.attributes)
            assert received.origin._replace(resource_schema=SCHEMA_URL) == OURS  # an application has its own resource
            assert told["messaging.system"] == "holdfast"
            assert told["messaging.operation.type"] == kind_of_operation
            assert told["server.address"] == server_of(where)
            assert (span.name, told["messaging.destination.name"]) == (f"{name} {QUEUE}", QUEUE)
            if "messaging.batch.message_count" in told:
                assert (span.kind, told["messaging.batch.message_count"]) == (Span.SPAN_KIND_CLIENT, 2)
                continue
            assert span.kind == kind
            assert told["messaging.message.id"]
            assert ("error.type" in told) == (span.status.code == 2)
    assert {attributes(each.item.attributes).get("error.type") for each in of(receiver, "process")} == {
        None,
        "signal: SIGKILL",
    }


@pytest.mark.parametrize(("lanes", "name"), [({"mail"}, "send mail"), ({"mail", "reports"}, "send"), (set(), "send")])
def test_the_submit_of_a_batch_names_the_lane_of_all_its_tasks(lanes: set[str], name: str) -> None:
    kept, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    with SubmitSpans(provider).send_batch(2, lanes, None):
        pass
    [span] = kept.get_finished_spans()
    assert (span.name, (span.attributes or {}).get("messaging.destination.name")) == (
        name,
        name.partition(" ")[2] or None,
    )


def of(receiver: Receiver, operation: str) -> list[Received]:
    """The spans of an operation."""
    return [
        each
        for each in receiver.spans_with_resource()
        if attributes(each.item.attributes).get("messaging.operation.name") == operation
    ]


def tasks(receiver: Receiver, operation: str) -> set[str]:
    return {attributes(each.item.attributes)["holdfast.task.id"] for each in of(receiver, operation)}


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("redis://queue.example.org", ("queue.example.org", 6379)),
        ("rediss://user:secret@10.0.0.7:6380/2", ("10.0.0.7", 6380)),
        ("redis://[::1]:7000", ("::1", 7000)),
        ("unix:///run/a%20store.sock?db=1", ("/run/a store.sock", 0)),
        ("redis+sentinel://a,b/mymaster", None),
        ("redis+cluster://a,b", None),
    ],
)
def test_the_server_of_a_store_is_the_one_of_its_url(url: str, address: tuple[str, int] | None) -> None:
    """Sentinels and nodes of a Cluster know it: tests/redis/test_sentinel.py."""
    store = RedisStore(RedisSettings(url))
    assert store.address() == (ServerAddress(*address) if address else None)


def test_the_port_of_the_server_is_a_number() -> None:
    readings = Readings(1)
    server = semantic_names.of_server(ServerAddress("queue.example.org", 6379))
    assert server == {"server.address": "queue.example.org", "server.port": 6379}
    labels = ("holdfast", "process", "lane", "", *map(str, server.values()))
    readings.add_histogram(table.PROCESS_DURATION, Histogram(1, Counter({1: 1})), *labels)
    [of_queue] = OtlpExposition(resource("s")).metrics_data(readings, 1).resource_metrics
    [point] = of_queue.scope_metrics[0].metrics[0].data.data_points
    assert server.items() <= point.attributes.items()


def test_a_store_in_memory_has_no_server() -> None:
    assert MemoryStore("q").address() is None
    assert semantic_names.of_server(None) == {}


def test_all_names_are_of_the_conventions_or_begin_with_ours() -> None:
    """By the constants of OpenTelemetry for Python, as far as the version that is installed goes."""
    names = {
        value
        for name, value in vars(semantic_names).items()
        if name.isupper() and isinstance(value, str) and "." in value and value != SCHEMA_URL
    }
    theirs = {each for each in names if each.startswith(OF_CONVENTIONS)}
    assert {each for each in names - theirs if not each.startswith("holdfast.")} == set()
    for name in theirs:
        module = import_module(f"opentelemetry.semconv._incubating.attributes.{name.partition('.')[0]}_attributes")
        assert name in {value for value in vars(module).values() if isinstance(value, str)}


def test_the_schema_is_a_published_one() -> None:
    """An older package of constants does not know it yet."""
    known = [each.value for each in Schemas]
    assert SCHEMA_URL in known or _version(SCHEMA_URL) > max(map(_version, known))


def _version(url: str) -> tuple[int, ...]:
    return tuple(map(int, urlsplit(url).path.rpartition("/")[2].split(".")))


def server_of(url: str) -> str:
    parts = urlsplit(url)
    return parts.hostname or parts.path
