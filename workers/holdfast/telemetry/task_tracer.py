"""Makes the spans of tasks: of each delivery, of deliveries whose worker was lost, of recoveries and of fires.

In the mode `link` a task has a trace of its own, whose id is made of the task's id, and its spans link to the span in
which it was submitted. In the mode `parent` they are children of that span. In both, the deliveries of a task are in
one trace, each linked to the one before.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from opentelemetry.trace import Link, SpanContext, SpanKind, StatusCode, TraceFlags
from opentelemetry.util.types import AttributeValue

from holdfast.core import trace_ids
from holdfast.telemetry import baggage, semantic_names
from holdfast.telemetry.chosen_spans import ChosenSpans
from holdfast.telemetry.delivery_span import DeliverySpan
from holdfast.telemetry.planned_span import PlannedSpan
from holdfast.telemetry.producer_span import producer
from holdfast.telemetry.run_record import RunRecord, StartedRun

if TYPE_CHECKING:
    from opentelemetry.trace import TracerProvider

    from holdfast.core.delivery import Delivery
    from holdfast.core.operations import Run
    from holdfast.handler.task import Task
    from holdfast.telemetry import Tracing
    from holdfast.telemetry.lost_run import LostRun

PARENT = "parent"
_NS = 1_000_000  # of a millisecond


class TaskTracer:
    def __init__(self, provider: TracerProvider, tracing: Tracing) -> None:
        self._spans = ChosenSpans(provider)
        self._is_parent = tracing.mode == PARENT
        self._keeps_baggage = tracing.baggage
        self._server = tracing.server

    def delivery(self, delivery: Delivery, task: Task, handler: str) -> DeliverySpan:
        operation = task.operation
        span = self._spans.start_usual(StartedRun(delivery, operation, handler, time.time_ns()), self._planned)
        given = baggage.read(operation.baggage) if self._keeps_baggage and operation.baggage else None
        task.span = opened = DeliverySpan(span, given)
        if span.is_recording():
            task.notes.on_checkpoint = opened.checkpoint
        return opened

    def _planned(self, record: RunRecord) -> PlannedSpan:
        origin = producer(record)
        return PlannedSpan(
            f"{semantic_names.PROCESS} {record.lane}",
            int(trace_ids.trace_id(record.task_id), 16),
            int(trace_ids.span_id(record.task_id, record.delivery), 16),
            SpanKind.CONSUMER,
            record.attributes() | semantic_names.of_server(self._server()),
            self._parent(origin),
            origin,
            self._links(record.task_id, record.delivery, origin),
            record.start_ns,
        )

    def lost(self, run: LostRun) -> None:
        """The span of a delivery whose worker was lost, and the span of its recovery within that."""
        origin = producer(run.operation)
        span = self._spans.start(
            PlannedSpan(
                f"{semantic_names.PROCESS} {run.lane}",
                int(trace_ids.trace_id(run.task_id), 16),
                int(trace_ids.span_id(run.task_id, run.delivery), 16),
                SpanKind.CONSUMER,
                {
                    **_task_attributes(run.lane, run.task_id, run.operation, run.size),
                    **run.attributes(),
                    **semantic_names.of_server(self._server()),
                },
                self._parent(origin),
                origin,
                self._links(run.task_id, run.delivery, origin),
                run.claimed_ms * _NS,
            )
        )
        span.set_status(StatusCode.ERROR)
        span.add_event(semantic_names.LOST_EVENT, {semantic_names.CAUSE: run.cause}, run.lost_ms * _NS)
        self._recovery(run, span.get_span_context())
        span.end(run.lost_ms * _NS)

    def _recovery(self, run: LostRun, lost: SpanContext) -> None:
        span = self._spans.start(
            PlannedSpan(
                f"{semantic_names.RECOVER} {run.lane}",
                lost.trace_id,
                int(trace_ids.recovery_span_id(run.task_id, run.delivery), 16),
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
        trace_id = origin.trace_id if origin and is_child else int(trace_ids.trace_id(task_id), 16)
        span_id = int(trace_ids.span_id(task_id, delivery), 16)
        return SpanContext(trace_id, span_id, is_remote=True, trace_flags=TraceFlags(TraceFlags.SAMPLED))


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
