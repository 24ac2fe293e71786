"""The span of a delivery is the same, sent as a record or made by the SDK."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Thread
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor
from opentelemetry.sdk.trace import Span as SdkSpan
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from holdfast.core.delivery import Delivery, Verdict
from holdfast.core.envelope import build_parts
from holdfast.core.outcomes import Completed, Failure, HandlerStopped, InputAsked, Outcome, Raised
from holdfast.core.store_info import ServerAddress
from holdfast.handler.task import Task
from holdfast.telemetry import providers
from holdfast.telemetry.delivery_span import FastSpan
from holdfast.telemetry.port import GRPC, HTTP, Tracing
from holdfast.telemetry.providers import BatchingProvider, EndedSpan, takes_records, taking_records
from holdfast.telemetry.resource import resource
from holdfast.telemetry.task_tracer import TaskTracer
from tests.envelopes import build_run
from tests.handler.deliveries import delivery_of
from tests.telemetry.collector import attributes

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
TIMES = {"start_time_unix_nano", "end_time_unix_nano", "time_unix_nano"}
ABOUT = resource("holdfast-test")
SERVER = ServerAddress("redis.example.org", 6380)


class Kept(SpanExporter):
    """Keeps what would be sent."""

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.records = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.records += sum(isinstance(each, EndedSpan) for each in spans)
        for group in encode_spans(spans).resource_spans:
            assert attributes(group.resource.attributes)["service.name"] == "holdfast-test"
            self.spans += [span for scope in group.scope_spans for span in scope.spans]
        return SpanExportResult.SUCCESS


class Traced:
    """Spans of deliveries. `records`: they are sent as records, as long as nobody touches them."""

    def __init__(self, *, records: bool, mode: str = "link") -> None:
        self.kept = (taking_records(Kept, ABOUT) if records else Kept)()
        self.provider = BatchingProvider(self.kept, ABOUT)
        self._tracer = TaskTracer(self.provider, Tracing(mode, server=lambda: SERVER))

    def sent(self, delivery: Delivery, outcome: Outcome, within: Callable[[trace.Span], object]) -> list[Span]:
        """All spans, those first that ended first."""
        span = self._tracer.delivery(delivery, Task(delivery), "tests:handle")
        with span.inside():
            within(trace.get_current_span())
        span.ended(outcome, None)
        span.settled(Verdict.OK)
        self.provider.shutdown()
        return sorted(self.kept.spans, key=lambda each: each.end_time_unix_nano)


def untouched(span: trace.Span) -> None:
    pass


def timeless(spans: list[Span]) -> list[Span]:
    for span in spans:
        assert 0 < span.start_time_unix_nano <= span.end_time_unix_nano
        for timed in (span, *span.events):
            for field in TIMES.intersection(timed.DESCRIPTOR.fields_by_name):
                timed.ClearField(field)
    return spans


def traced_delivery(flags: str | None = "01", **fields: Any) -> Delivery:
    run = build_run("t-1", build_parts("hi"), trace_id=TRACE, span_id=SPAN, trace_flags=flags)
    return delivery_of(operation=run.operation, **fields)


DELIVERIES = {
    "first": delivery_of(),
    "later": delivery_of(turn=300, delivery=200_000, attempts=2, waited_ms=1_234_567),
    "long texts": delivery_of(task_id="t" * 200, lane="ü" * 20_000, claim=f"1:{'w' * 117}:3"),
    "empty texts": delivery_of(task_id="", lane="", claim=""),
    "of a producer": traced_delivery(delivery=3),
    "of a random trace": traced_delivery("03"),
    "of a trace that is not sampled": traced_delivery("00"),
}


@pytest.mark.parametrize("mode", ["link", "parent"])
@pytest.mark.parametrize("name", DELIVERIES)
def test_a_record_is_sent_as_the_sdks_span(name: str, mode: str) -> None:
    delivery = DELIVERIES[name]
    recorded, made = (Traced(records=each, mode=mode) for each in (True, False))
    spans = timeless(recorded.sent(delivery, Completed(b"1"), untouched))
    assert spans == timeless(made.sent(delivery, Completed(b"1"), untouched))
    assert (recorded.kept.records, made.kept.records) == (len(spans), 0)


@pytest.mark.parametrize(
    "outcome",
    [InputAsked("input-required", b""), HandlerStopped("cancel"), Raised(Failure("KeyError", "'secret'", "no frames"))],
)
def test_every_outcome_is_told_the_same(outcome: Outcome) -> None:
    recorded, made = (Traced(records=each) for each in (True, False))
    spans = timeless(recorded.sent(delivery_of(), outcome, untouched))
    assert spans == timeless(made.sent(delivery_of(), outcome, untouched))


def raising(span: trace.Span) -> None:
    span.record_exception(KeyError("k"), {"more": 1})
    span.set_status(trace.StatusCode.ERROR, "no")


def touching(span: trace.Span) -> None:
    span.set_attribute("app.one", 1)
    span.set_attributes({"app.list": ["a", "b"], "messaging.system": "mine"})
    span.add_event("seen", {"app.yes": True})
    span.add_link(trace.SpanContext(1, 2, is_remote=True))
    span.update_name("mine")


def from_a_thread(span: trace.Span) -> None:
    threads = [Thread(target=span.set_attribute, args=("app.one", 1)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def reading(span: trace.Span) -> None:
    assert span.is_recording()
    assert isinstance(span, FastSpan | SdkSpan)
    assert dict(span.attributes or {})["messaging.destination.name"] == "q"


@pytest.mark.parametrize("touch", [touching, raising, from_a_thread, reading])
def test_a_handler_can_do_with_the_span_around_it_what_the_sdks_can(touch: Callable[[trace.Span], None]) -> None:
    recorded, made = (Traced(records=each) for each in (True, False))
    [span] = timeless(recorded.sent(delivery_of(), Completed(b"1"), touch))
    [other] = timeless(made.sent(delivery_of(), Completed(b"1"), touch))
    if touch is raising:
        assert span.status.code == Status.STATUS_CODE_ERROR
        assert span.events[0].name == "exception"
    for each in (span, other):
        for event in each.events:
            event.ClearField("attributes")  # a traceback has lines of this run
    assert span == other


def test_spans_of_handlers_are_within_a_record() -> None:
    traced = Traced(records=True)
    tracer = traced.provider.get_tracer("app")
    inner, outer = traced.sent(delivery_of(), Completed(b"1"), lambda _: tracer.start_span("inner").end())
    assert (inner.name, inner.parent_span_id, inner.trace_id) == ("inner", outer.span_id, outer.trace_id)


def test_what_comes_after_the_end_is_left_out() -> None:
    kept: list[trace.Span] = []
    traced = Traced(records=True)
    [span] = traced.sent(delivery_of(), Completed(b"1"), kept.append)
    kept[0].set_attribute("app.late", 1)
    kept[0].end()
    assert not kept[0].is_recording()
    assert "app.late" not in attributes(span.attributes)
    assert len(traced.kept.spans) == 1


class Ended(SpanProcessor):
    def __init__(self) -> None:
        self.names: list[str] = []

    def on_end(self, span: ReadableSpan) -> None:
        self.names.append(span.name)


def test_a_processor_that_the_application_adds_sees_all_spans() -> None:
    traced, ended = Traced(records=True), Ended()
    traced.provider.add_span_processor(ended)
    [span] = traced.sent(delivery_of(), Completed(b"1"), untouched)
    assert ended.names == [span.name]


def test_limits_of_the_users_variables_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "3")
    [span] = Traced(records=True).sent(delivery_of(), Completed(b"1"), untouched)
    assert len(span.attributes) == 3


@pytest.mark.parametrize("sampler", ["always_on", "always_off", "parentbased_always_off", "traceidratio"])
def test_every_sampler_decides(sampler: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", sampler)
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0")
    recorded, made = (Traced(records=each) for each in (True, False))
    spans = timeless(recorded.sent(traced_delivery("00"), Completed(b"1"), untouched))
    assert spans == timeless(made.sent(traced_delivery("00"), Completed(b"1"), untouched))
    assert len(spans) == (sampler == "always_on")


@pytest.mark.parametrize("protocol", [HTTP, GRPC])
def test_exporters_of_this_version_take_records(protocol: str) -> None:
    """Else all goes through the SDK, which is right, but slower."""
    exporter = (providers.over_grpc if protocol == GRPC else providers.over_http)("http://127.0.0.1:1", ABOUT)
    assert takes_records(exporter)
    exporter.shutdown()
