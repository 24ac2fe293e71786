"""The collector gets a span of each delivery and a count of recoveries."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import pytest
from opentelemetry import trace
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from holdfast.core.delivery import Delivery
from holdfast.core.envelope import Run, build_parts, read
from holdfast.core.identity import recovery_span_id, span_id, trace_id
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
from holdfast.telemetry.port import Telemetry, Tracing, open_telemetry
from holdfast.telemetry.runs import LostRun, RunEvent
from tests.envelopes import build_run
from tests.handler.deliveries import delivery_of
from tests.telemetry.collector import Collector, attributes, collecting

STACK = """Traceback (most recent call last):
  File "/app/agent.py", line 7, in handle
    raise KeyError("secret")
KeyError: 'secret'
"""
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
    return delivery_of(operation=run.operation, lane="bindu:tasks", turn=2, delivery=3, waited_ms=250)


def deliver(telemetry: Telemetry, delivery: Delivery, outcome: Outcome) -> None:
    span = telemetry.delivery(delivery, Task(delivery), "tests:handle")
    span.ended(outcome, None)
    span.settled(None)


def links(span: Span) -> list[tuple[object, ...]]:
    return [(each.trace_id.hex(), each.span_id.hex(), *attributes(each.attributes).values()) for each in span.links]


def span_ids(collector: Collector) -> list[str]:
    """Of all that arrived; after the telemetry's end."""
    requests = [collector.traces.get() for _ in range(collector.traces.qsize())]
    groups = [scope for request in requests for each in request.resource_spans for scope in each.scope_spans]
    return [span.span_id.hex() for scope in groups for span in scope.spans]


def test_a_delivery_is_a_consumer_span_with_links(collector: Collector, telemetry: Telemetry) -> None:
    """To the producer's span and to the delivery before; its ids are made of those of the task."""
    deliver(telemetry, traced(), Completed(b"1"))
    telemetry.shutdown()
    span = collector.span()
    assert (span.name, span.kind) == ("process bindu:tasks", Span.SPAN_KIND_CONSUMER)
    assert (span.trace_id.hex(), span.span_id.hex()) == (trace_id("t-1"), span_id("t-1", 3))
    assert not span.parent_span_id
    assert links(span) == [(TRACE, SPAN, "producer"), (trace_id("t-1"), span_id("t-1", 2), "earlier delivery")]


def test_in_the_mode_parent_a_delivery_is_a_child_of_its_producers_span(collector: Collector) -> None:
    telemetry = open_telemetry(collector.endpoint, "holdfast-test", tracing=Tracing("parent"))
    deliver(telemetry, traced(), Completed(b"1"))
    telemetry.shutdown()
    span = collector.span()
    assert (span.trace_id.hex(), span.parent_span_id.hex()) == (TRACE, SPAN)
    assert span.span_id.hex() == span_id("t-1", 3)
    assert links(span) == [(TRACE, SPAN, "producer"), (TRACE, span_id("t-1", 2), "earlier delivery")]


@pytest.mark.parametrize("mode", ["link", "parent"])
@pytest.mark.parametrize(("flags", "is_sent"), [("00", False), ("01", True), (None, True)])
def test_the_producer_decides_if_a_trace_is_sampled(
    collector: Collector, mode: str, flags: str | None, is_sent: bool
) -> None:
    telemetry = open_telemetry(collector.endpoint, "holdfast-test", tracing=Tracing(mode))
    run = build_run("t-1", build_parts("hi"), trace_id=TRACE, span_id=SPAN, trace_flags=flags)
    task = Task(delivery := delivery_of(operation=run.operation))
    span = telemetry.delivery(delivery, task, "tests:handle")
    with span.inside():
        assert trace.get_current_span().get_span_context().trace_flags.sampled is is_sent
    span.ended(Completed(b""), None)
    span.settled(None)
    deliver(telemetry, delivery_of(task_id="last"), Completed(b""))
    telemetry.shutdown()
    assert task.traceparent
    assert task.traceparent.endswith("-01" if is_sent else "-00")
    assert span_ids(collector) == [*([span_id("t-1", 1)] if is_sent else []), span_id("last", 1)]


def test_a_sampler_that_keeps_a_part_decides_the_same_for_each_delivery_of_a_task(
    collector: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    telemetry = open_telemetry(collector.endpoint, "holdfast-test")
    for number in range(40):
        for delivery in (1, 2):
            deliver(telemetry, delivery_of(task_id=f"t-{number}", delivery=delivery), Completed(b""))
    telemetry.shutdown()
    sent = span_ids(collector)
    both = [{span_id(f"t-{number}", 1) in sent, span_id(f"t-{number}", 2) in sent} for number in range(40)]
    assert {True} in both
    assert {False} in both
    assert all(len(each) == 1 for each in both)


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
        "messaging.client.id": "i",
        "holdfast.task.id": "t-1",
        "holdfast.task.handler": "tests:handle",
        "holdfast.task.attempt": 1,
        "holdfast.task.wait": 0.25,
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
        (Raised(Failure("KeyError", "'secret'", STACK)), "raised", "KeyError"),
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
    span = telemetry.delivery(delivery, Task(delivery), "tests:handle")
    with anyio.CancelScope() as scope, span.inside():
        scope.cancel()
        await anyio.sleep_forever()
    span.ended(HandlerStopped("cancel"), None)
    span.settled(None)
    telemetry.shutdown()
    sent = await anyio.to_thread.run_sync(collector.span)
    assert attributes(sent.attributes)["holdfast.delivery.outcome"] == "stopped"
    assert not sent.events


def test_spans_of_the_handler_are_within_the_one_of_its_delivery(collector: Collector, telemetry: Telemetry) -> None:
    delivery = delivery_of()
    before = trace.get_current_span()
    span = telemetry.delivery(delivery, Task(delivery), "tests:handle")
    with span.inside():
        inside = trace.get_current_span().get_span_context().span_id
    span.settled(None)
    telemetry.shutdown()
    assert collector.span().span_id == inside.to_bytes(8)
    assert trace.get_current_span() is before


def test_a_lost_run_is_a_span_from_its_claim_to_its_loss_with_the_recovery_within(
    collector: Collector, telemetry: Telemetry
) -> None:
    operation = read(traced().operation, 1 << 20)
    assert isinstance(operation, Run)
    events = (RunEvent("dead-letter", 3000, number=4), RunEvent("delayed", 3000, due_ms=8000))
    telemetry.lost(LostRun("t-1", "q", 2, 3, "i", operation, 9, "handle", "killed", 1000, 3000, events))
    telemetry.shutdown()
    recovery, lost = collector.spans(2)
    ids = [(span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex()) for span in (lost, recovery)]
    trace_of_task, lost_id = trace_id("t-1"), span_id("t-1", 3)
    assert ids == [(trace_of_task, lost_id, ""), (trace_of_task, recovery_span_id("t-1", 3), lost_id)]
    times = [time for span in (lost, recovery) for time in (span.start_time_unix_nano, span.end_time_unix_nano)]
    assert times == [seconds * 10**9 for seconds in (1, 3, 3, 3)]
    assert (lost.name, recovery.name) == ("process q", "recover q")
    assert [(event.name, attributes(event.attributes)) for event in recovery.events] == [
        ("holdfast.dead_letter", {"holdfast.task.crashes": 4}),
        ("holdfast.delayed", {"holdfast.retry.delay": 5.0}),
    ]
    told = attributes(lost.attributes)
    assert (told["holdfast.delivery.outcome"], told["error.type"]) == ("lost", "killed")
    assert links(lost)[0] == (TRACE, SPAN, "producer")


def test_the_collector_learns_the_name_of_the_service(collector: Collector, telemetry: Telemetry) -> None:
    deliver(telemetry, delivery_of(), Completed(b"1"))
    telemetry.shutdown()
    resource = collector.traces.get(timeout=10).resource_spans[0].resource
    assert attributes(resource.attributes)["service.name"] == "holdfast-test"


def test_shutting_down_twice_is_as_good_as_once(telemetry: Telemetry) -> None:
    telemetry.shutdown()
    telemetry.shutdown()
