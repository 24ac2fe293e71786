"""The collector gets a span of each delivery and a count of recoveries."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from holdfast.core.delivery import Delivery
from holdfast.core.envelope import build_parts, build_run
from holdfast.core.outcomes import (
    Completed,
    Failed,
    Failure,
    HandlerStopped,
    InputAsked,
    Outcome,
    Raised,
    Rejected,
    UnreadableMessage,
)
from holdfast.handler.task import Task
from holdfast.telemetry import Telemetry, open_telemetry
from tests.worker.handlers import delivery_of
from tests.worker.telemetry_collector import Collector, attributes, collecting

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as collector:
        yield collector


@pytest.fixture
def telemetry(collector: Collector) -> Iterator[Telemetry]:
    telemetry = open_telemetry(collector.endpoint, "holdfast-test")
    yield telemetry
    telemetry.shutdown()


def traced() -> Delivery:
    """The third delivery of a second turn, submitted within a span."""
    run = build_run("t-1", build_parts("hi"), context_id="c-1", message_id="m-1", trace_id=TRACE, span_id=SPAN)
    return delivery_of(operation=run.operation, lane="bindu:tasks", turn=2, delivery=3)


def deliver(telemetry: Telemetry, delivery: Delivery, outcome: Outcome) -> None:
    with telemetry.delivery(delivery, Task(delivery)) as span:
        span.ended(outcome)


def test_a_delivery_is_a_consumer_span_in_the_trace_of_its_producer(collector: Collector, telemetry: Telemetry) -> None:
    deliver(telemetry, traced(), Completed(b"1"))
    telemetry.shutdown()
    span = collector.span()
    assert (span.name, span.kind) == ("process bindu:tasks", Span.SPAN_KIND_CONSUMER)
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, SPAN)
    assert [(link.trace_id.hex(), link.span_id.hex()) for link in span.links] == [(TRACE, SPAN)]


def test_a_span_names_the_task_the_turn_the_delivery_and_the_lane(collector: Collector, telemetry: Telemetry) -> None:
    delivery = traced()
    deliver(telemetry, delivery, Completed(b"1"))
    telemetry.shutdown()
    assert attributes(collector.span().attributes) == {
        "messaging.system": "holdfast",
        "messaging.operation.name": "process",
        "messaging.operation.type": "process",
        "messaging.destination.name": "bindu:tasks",
        "messaging.message.id": "m-1",
        "messaging.message.conversation_id": "c-1",
        "messaging.message.envelope.size": len(delivery.operation),
        "holdfast.task.id": "t-1",
        "holdfast.task.turn": 2,
        "holdfast.delivery.number": 3,
        "holdfast.delivery.outcome": "completed",
    }


def test_a_task_whose_producer_has_no_span_begins_a_trace(collector: Collector, telemetry: Telemetry) -> None:
    deliver(telemetry, delivery_of(), Completed(b"1"))
    telemetry.shutdown()
    span = collector.span()
    assert not span.parent_span_id
    assert not span.links


@pytest.mark.parametrize(
    ("outcome", "word", "error"),
    [
        (Completed(b""), "completed", None),
        (InputAsked("input-required", b""), "input-required", None),
        (HandlerStopped("cancel"), "stopped", None),
        (Failed(b"", "no"), "failed", "failed"),
        (Rejected(b"", "no"), "rejected", "rejected"),
        (UnreadableMessage("not UTF-8"), "unreadable", "unreadable"),
        (Raised(Failure("KeyError", "'secret'")), "raised", "KeyError"),
    ],
)
def test_a_span_tells_how_the_delivery_ended(
    collector: Collector, telemetry: Telemetry, outcome: Outcome, word: str, error: str | None
) -> None:
    deliver(telemetry, delivery_of(), outcome)
    telemetry.shutdown()
    span = collector.span()
    told = attributes(span.attributes)
    assert (told["holdfast.delivery.outcome"], told.get("error.type")) == (word, error)
    assert (span.status.code == Status.STATUS_CODE_ERROR) == (error is not None)
    assert "secret" not in str(span)


@pytest.mark.anyio
async def test_a_cancelled_delivery_is_told_as_stopped(collector: Collector, telemetry: Telemetry) -> None:
    delivery = delivery_of()
    with anyio.CancelScope() as scope, telemetry.delivery(delivery, Task(delivery)):
        scope.cancel()
        await anyio.sleep_forever()
    telemetry.shutdown()
    span = await anyio.to_thread.run_sync(collector.span)
    assert attributes(span.attributes)["holdfast.delivery.outcome"] == "stopped"
    assert not span.events


def test_spans_of_the_handler_are_within_the_one_of_its_delivery(collector: Collector, telemetry: Telemetry) -> None:
    delivery = delivery_of()
    before = trace.get_current_span()
    with telemetry.delivery(delivery, Task(delivery)):
        inside = trace.get_current_span().get_span_context().span_id
    telemetry.shutdown()
    assert collector.span().span_id == inside.to_bytes(8)
    assert trace.get_current_span() is before


def test_the_collector_learns_the_name_of_the_service(collector: Collector, telemetry: Telemetry) -> None:
    deliver(telemetry, delivery_of(), Completed(b"1"))
    telemetry.shutdown()
    resource = collector.traces.get(timeout=10).resource_spans[0].resource
    assert attributes(resource.attributes)["service.name"] == "holdfast-test"


def test_shutting_down_twice_is_as_good_as_once(telemetry: Telemetry) -> None:
    telemetry.shutdown()
    telemetry.shutdown()
