"""Makes the spans of tasks: of each delivery, of deliveries whose worker was lost, of recoveries and of fires.

In the mode `link` a task has a trace of its own, whose id is made of the task's id, and its spans link to the span in
which it was submitted. In the mode `parent` they are children of that span. In both, the deliveries of a task are in
one trace, each linked to the one before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from opentelemetry.context import Context
from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode, TraceFlags
from opentelemetry.util.types import AttributeValue

from holdfast.core import trace_ids
from holdfast.telemetry import baggage, semantic_names
from holdfast.telemetry.chosen_spans import ChosenSpans
from holdfast.telemetry.delivery_span import DeliverySpan
from holdfast.telemetry.producer_span import context, producer, traceparent

if TYPE_CHECKING:
    from opentelemetry.trace import Tracer

    from holdfast.core.delivery import Delivery
    from holdfast.core.operations import Run
    from holdfast.handler.task import Task
    from holdfast.telemetry.lost_run import LostRun

PARENT = "parent"
_NS = 1_000_000  # of a millisecond


class TaskTracer:
    def __init__(self, tracer: Tracer, mode: str, *, keeps_baggage: bool) -> None:
        self._spans = ChosenSpans(tracer)
        self._is_parent = mode == PARENT
        self._keeps_baggage = keeps_baggage

    def delivery(self, delivery: Delivery, task: Task, handler: str) -> DeliverySpan:
        operation = task.operation
        origin = producer(operation)
        span = self._spans.start(
            f"{semantic_names.PROCESS} {delivery.lane}",
            trace_ids.trace_id(delivery.task_id),
            trace_ids.span_id(delivery.task_id, delivery.delivery),
            parent=self._parent(origin),
            origin=origin,
            kind=SpanKind.CONSUMER,
            attributes=_attributes(delivery, task, handler),
            links=tuple(self._links(delivery.task_id, delivery.delivery, origin)),
        )
        task.span = traceparent(span.get_span_context())
        given = baggage.read(operation.baggage) if self._keeps_baggage and operation.baggage else None
        opened = DeliverySpan(span, given)
        if span.is_recording():
            task.notes.on_checkpoint = opened.checkpoint
        return opened

    def lost(self, run: LostRun) -> None:
        """The span of a delivery whose worker was lost, and the span of its recovery within that."""
        origin = producer(run.operation)
        span = self._spans.start(
            f"{semantic_names.PROCESS} {run.lane}",
            trace_ids.trace_id(run.task_id),
            trace_ids.span_id(run.task_id, run.delivery),
            parent=self._parent(origin),
            origin=origin,
            kind=SpanKind.CONSUMER,
            attributes={**_task_attributes(run.lane, run.task_id, run.operation, run.size), **run.attributes()},
            links=tuple(self._links(run.task_id, run.delivery, origin)),
            start_ns=run.claimed_ms * _NS,
        )
        span.set_status(StatusCode.ERROR)
        span.add_event(semantic_names.LOST_EVENT, {semantic_names.CAUSE: run.cause}, run.lost_ms * _NS)
        self._recovery(run, span.get_span_context())
        span.end(run.lost_ms * _NS)

    def _recovery(self, run: LostRun, lost: SpanContext) -> None:
        span = self._spans.start(
            f"{semantic_names.RECOVER} {run.lane}",
            f"{lost.trace_id:032x}",
            trace_ids.recovery_span_id(run.task_id, run.delivery),
            parent=context(lost, Context()),
            origin=None,
            kind=SpanKind.INTERNAL,
            attributes=run.recovery_attributes(),
            start_ns=run.lost_ms * _NS,
        )
        for event in run.events:
            span.add_event(event.name, event.attributes, event.at_ms * _NS)
        span.end(run.lost_ms * _NS)

    def _parent(self, origin: SpanContext | None) -> Context:
        return context(origin, Context()) if origin is not None and self._is_parent else Context()

    def _links(self, task_id: str, delivery: int, origin: SpanContext | None) -> Iterator[Link]:
        if origin is not None:
            yield Link(origin, {semantic_names.LINK: semantic_names.PRODUCER})
        if delivery > 1:
            yield Link(self._earlier(task_id, delivery - 1, origin), {semantic_names.LINK: semantic_names.EARLIER})

    def _earlier(self, task_id: str, delivery: int, origin: SpanContext | None) -> SpanContext:
        is_child = origin is not None and self._is_parent
        trace_id = origin.trace_id if origin and is_child else int(trace_ids.trace_id(task_id), 16)
        span_id = int(trace_ids.span_id(task_id, delivery), 16)
        return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


def _attributes(delivery: Delivery, task: Task, handler: str) -> dict[str, AttributeValue]:
    return {
        **_task_attributes(delivery.lane, delivery.task_id, task.operation, len(delivery.operation)),
        semantic_names.CLIENT_ID: _incarnation(delivery.claim),
        semantic_names.HANDLER: handler,
        semantic_names.TURN: delivery.turn,
        semantic_names.DELIVERY: delivery.delivery,
        semantic_names.ATTEMPT: delivery.attempts + 1,
        semantic_names.WAIT: delivery.waited_ms / 1000,
    }


def _incarnation(claim: str) -> str:
    return claim.partition(":")[2].rpartition(":")[0]


def _task_attributes(lane: str, task_id: str, operation: Run, size: int) -> dict[str, AttributeValue]:
    return {
        semantic_names.SYSTEM: semantic_names.HOLDFAST,
        semantic_names.OPERATION_NAME: semantic_names.PROCESS,
        semantic_names.OPERATION_TYPE: semantic_names.PROCESS,
        semantic_names.DESTINATION: lane,
        semantic_names.MESSAGE_ID: operation.message_id,
        semantic_names.CONVERSATION_ID: operation.context_id or task_id,
        semantic_names.ENVELOPE_SIZE: size,
        semantic_names.TASK_ID: task_id,
    }
