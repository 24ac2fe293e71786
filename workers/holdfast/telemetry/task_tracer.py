"""Makes the spans of deliveries, of lost deliveries and their recovery, and of tasks that schedules create.

In the mode `link` a task has its own trace, with an id made from the task's id. The task's spans have a link to the
producer's span. In the mode `parent` the task's spans are children of the producer's span. In both modes the deliveries
of a task are in one trace, and a delivery has a link to the one before.
"""

from __future__ import annotations

import copy
import time
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, DEFAULT_ON, Decision, Sampler, SamplingResult
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
    TracerProvider,
)
from opentelemetry.util.types import AttributeValue

from holdfast.core import identity
from holdfast.core.delivery import Delivery
from holdfast.telemetry import semantic_names, without_sdk
from holdfast.telemetry.delivery_span import DeliverySpan, FastSpan, Plan, PlannedSpan
from holdfast.telemetry.port import Telemetry
from holdfast.telemetry.providers import BatchingProvider, SpanProvider
from holdfast.telemetry.runs import StartedRun
from holdfast.telemetry.without_sdk import context as within
from holdfast.telemetry.without_sdk import producer
from holdfast.version import installed

if TYPE_CHECKING:
    from holdfast.core.envelope import Run
    from holdfast.core.schedule_records import Fire
    from holdfast.handler.task import Task
    from holdfast.telemetry.port import Server, Tracing
    from holdfast.telemetry.runs import LostRun


# A tracer that makes spans with given ids, and takes over the producer's sampling decision.

_ALWAYS, _AS_PRODUCER = (cast("Sampler", each).get_description() for each in (ALWAYS_ON, DEFAULT_ON))


class ChosenSpans:
    """Starts spans with given ids. It uses a copy of the provider's tracer, so that other spans get random ids as
    usual.

    A tracer of another library than the SDK ignores the given ids.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider if isinstance(provider, BatchingProvider) else None
        self._tracer = tracer = provider.get_tracer(semantic_names.HOLDFAST, installed(), semantic_names.SCHEMA_URL)
        self._sampler: Sampler | None = None
        self._chosen, self._lock = _Chosen(), Lock()
        self._sampling = ""
        if isinstance(tracer, SdkTracer):
            self._tracer = chosen = copy.copy(tracer)
            self._sampler = tracer.sampler
            self._sampling = tracer.sampler.get_description()
            chosen.id_generator = self._chosen
            chosen.sampler = self._chosen

    def start(self, planned: PlannedSpan) -> Span:
        return self._started(planned, self._sampled(planned))

    def start_fast(self, run: StartedRun, plan: Plan) -> Span:
        """A FastSpan: a plain record unless a handler adds to the span. If a sampler has to decide, or processors need
        the SDK's spans, the SDK makes the span at once."""
        take = None if self._provider is None else self._provider.take
        if take is None or not self._is_sampled(run.operation):
            return self.start(plan(run))
        return FastSpan(run, plan, self.start, take)

    def _is_sampled(self, operation: Run) -> bool:
        """True if the span is sampled for sure: the sampler takes all spans, or it follows the producer, whose span is
        sampled or absent."""
        if self._sampling == _AS_PRODUCER:
            flags = operation.trace_flags
            return flags is None or bool(flags & TraceFlags.SAMPLED) or producer(operation) is None
        return self._sampling == _ALWAYS

    def _started(self, planned: PlannedSpan, sampled: SamplingResult | None) -> Span:
        if sampled is not None and sampled.decision is Decision.DROP:
            return NonRecordingSpan(planned.context_with(TraceFlags.DEFAULT))
        with self._lock:  # a handler's thread may be here, too
            self._chosen.set(planned, sampled)
            return self._tracer.start_span(
                planned.name,
                _parent(planned),
                planned.kind,
                planned.attributes,
                planned.links,
                planned.start_ns,
            )

    def _sampled(self, planned: PlannedSpan) -> SamplingResult | None:
        """The decision of the provider's sampler, made as if the span were a child of the producer's span. None if the
        tracer is not the SDK's."""
        if self._sampler is None:
            return None
        origin = planned.origin
        trace_id = planned.trace_id if origin is None else origin.trace_id
        parent = _parent(planned) if origin is None else within(origin)
        return self._sampler.should_sample(
            parent, trace_id, planned.name, planned.kind, planned.attributes, planned.links
        )


def _parent(planned: PlannedSpan) -> Context:
    return Context() if planned.parent is None else within(planned.parent, Context())


class _Chosen(IdGenerator, Sampler):
    """The id generator and the sampler of the copied tracer: the next span gets the ids and the decision that were
    passed to `set`."""

    _trace_id = 0
    _span_id = 0
    _sampled: SamplingResult

    def set(self, planned: PlannedSpan, sampled: SamplingResult | None) -> None:
        self._trace_id, self._span_id = planned.trace_id, planned.span_id
        if sampled is not None:
            self._sampled = sampled

    def generate_trace_id(self) -> int:
        return self._trace_id

    def generate_span_id(self) -> int:
        return self._span_id

    def should_sample(self, *_: Any, **__: Any) -> SamplingResult:
        return self._sampled

    def get_description(self) -> str:
        return "decided"


PARENT = "parent"
_NS = 1_000_000  # nanoseconds of a millisecond


class TaskTracer(Telemetry):
    traces = True

    def __init__(self, provider: TracerProvider, tracing: Tracing) -> None:
        self._spans = ChosenSpans(provider)
        self._is_parent = tracing.mode == PARENT
        self._keeps_baggage = tracing.baggage
        self._server = tracing.server

    def delivery(self, delivery: Delivery, task: Task, handler: str) -> DeliverySpan:
        operation = task.operation
        span = self._spans.start_fast(StartedRun(delivery, operation, handler, time.time_ns()), self._planned)
        given = without_sdk.baggage_of(operation.baggage) if self._keeps_baggage and operation.baggage else None
        task.span = opened = DeliverySpan(span, given)
        if span.is_recording():
            task.notes.on_checkpoint = opened.checkpoint
        return opened

    def _planned(self, run: StartedRun) -> PlannedSpan:
        of = run.delivery
        return self._process(of.lane, of.task_id, of.delivery, run.operation, run.attributes(), run.start_ns)

    def _process(
        self,
        lane: str,
        task_id: str,
        delivery: int,
        operation: Run,
        attributes: dict[str, AttributeValue],
        start_ns: int,
    ) -> PlannedSpan:
        origin = producer(operation)
        return PlannedSpan(
            f"{semantic_names.PROCESS} {lane}",
            int(identity.trace_id(task_id), 16),
            int(identity.span_id(task_id, delivery), 16),
            SpanKind.CONSUMER,
            attributes | semantic_names.of_server(self._server()),
            self._parent(origin),
            origin,
            self._links(task_id, delivery, origin),
            start_ns,
        )

    def lost(self, run: LostRun) -> None:
        """Send the span of a delivery whose worker was lost, and its child, the span of the recovery."""
        started_ns, lost_ns = run.claimed_ms * _NS, run.lost_ms * _NS
        span = self._spans.start(
            self._process(run.lane, run.task_id, run.delivery, run.operation, run.attributes(), started_ns)
        )
        span.set_status(StatusCode.ERROR)
        span.add_event(semantic_names.LOST_EVENT, {semantic_names.CAUSE: run.cause}, lost_ns)
        self._recovery(run, span.get_span_context())
        span.end(lost_ns)

    def _recovery(self, run: LostRun, lost: SpanContext) -> None:
        span = self._spans.start(
            PlannedSpan(
                f"{semantic_names.RECOVER} {run.lane}",
                lost.trace_id,
                int(identity.recovery_span_id(run.task_id, run.delivery), 16),
                SpanKind.INTERNAL,
                run.recovery_attributes(),
                parent=lost,
                start_ns=run.lost_ms * _NS,
            )
        )
        for event in run.events:
            span.add_event(event.name, event.attributes, event.at_ms * _NS)
        span.end(run.lost_ms * _NS)

    def _parent(self, origin: SpanContext | None) -> SpanContext | None:
        return origin if origin is not None and self._is_parent else None

    def _links(self, task_id: str, delivery: int, origin: SpanContext | None) -> list[Link]:
        links = list[Link]()
        if origin is not None:
            links.append(Link(origin, {semantic_names.LINK: semantic_names.PRODUCER}))
        if delivery > 1:
            earlier = self._earlier(task_id, delivery - 1, origin)
            links.append(Link(earlier, {semantic_names.LINK: semantic_names.EARLIER}))
        return links

    def _earlier(self, task_id: str, delivery: int, origin: SpanContext | None) -> SpanContext:
        is_child = origin is not None and self._is_parent
        trace_id = origin.trace_id if origin and is_child else int(identity.trace_id(task_id), 16)
        span_id = int(identity.span_id(task_id, delivery), 16)
        return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


# The spans of tasks that schedules create.


class FireTracer:
    def __init__(self, provider: TracerProvider, server: Server) -> None:
        self._spans = ChosenSpans(provider)
        self._server = server

    def names(self, task_id: str) -> tuple[str, str, str]:
        # Only the sampler knows the flags, so this makes a span to read its context. The span is never sent.
        context = self._start(task_id, "").get_span_context()
        return f"{context.trace_id:032x}", f"{context.span_id:016x}", f"{context.trace_flags:02x}"

    def fired(self, schedule_id: str, fire: Fire) -> None:
        span = self._start(fire.task.task_id, fire.task.lane)
        if span.is_recording():
            span.set_attributes(
                {
                    **semantic_names.of_operation(semantic_names.FIRE, fire.task.lane, semantic_names.SEND),
                    semantic_names.MESSAGE_ID: fire.task.message_id,
                    semantic_names.TASK_ID: fire.task.task_id,
                    semantic_names.SCHEDULE_ID: schedule_id,
                    semantic_names.LATENESS: max(0.0, time.time() - fire.scheduled_at / 1000),
                    **semantic_names.of_server(self._server()),
                }
            )
        span.end()

    def _start(self, task_id: str, lane: str) -> Span:
        return self._spans.start(
            PlannedSpan(
                f"{semantic_names.FIRE} {lane}",
                int(identity.trace_id(task_id), 16),
                int(identity.fire_span_id(task_id), 16),
                SpanKind.PRODUCER,
                {},
            )
        )


# Telemetry through the OpenTelemetry SDK. Processes import this only if an endpoint is set, because the SDK needs 23 MB
# of memory, or 40 MB with gRPC.


class OtlpTelemetry(TaskTracer):
    def __init__(self, spans: SpanProvider, tracing: Tracing) -> None:
        super().__init__(spans.tracers, tracing)
        self.fires = FireTracer(spans.tracers, tracing.server)
        self._provider = spans

    def shutdown(self) -> None:
        self._provider.shutdown()
