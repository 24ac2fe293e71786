"""Telemetry through the OpenTelemetry SDK. Imported only where an endpoint is set: it costs 23 MB, with gRPC 40."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import Link, SpanKind, StatusCode
from opentelemetry.util.types import AttributeValue

from holdfast.core.delivery import Delivery
from holdfast.core.outcomes import Outcome
from holdfast.telemetry import semantic_names
from holdfast.telemetry.producer_span import context, producer, traceparent
from holdfast.telemetry.providers import Providers
from holdfast.telemetry.span_results import CANCELLED, SpanResult, result

if TYPE_CHECKING:
    from holdfast.handler.task import Task


class OtlpTelemetry:
    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._tracer = providers.tracers.get_tracer(semantic_names.HOLDFAST)

    @contextmanager
    def delivery(self, delivery: Delivery, task: Task) -> Generator[_Span]:
        origin = producer(task)
        span = self._tracer.start_span(
            f"{semantic_names.PROCESS} {delivery.lane}",
            context(origin) if origin else None,
            SpanKind.CONSUMER,
            _attributes(delivery, task),
            [Link(origin)] if origin else (),
        )
        task.span = traceparent(span.get_span_context())
        delivery_span = _Span()
        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield delivery_span
        finally:
            delivery_span.write_to(span)
            span.end()

    def recovered(self, count: int, cause: str) -> None:
        pass  # the steward's metrics have it

    def shutdown(self) -> None:
        self._providers.shutdown()


class _Span:
    """Remembers how the delivery ended, until the span does."""

    __slots__ = ("_result",)

    def __init__(self) -> None:
        self._result: SpanResult = CANCELLED

    def ended(self, outcome: Outcome) -> None:
        self._result = result(outcome)

    def write_to(self, span: trace.Span) -> None:
        span.set_attribute(semantic_names.OUTCOME, self._result.outcome)
        if self._result.error:
            span.set_attribute(semantic_names.ERROR_TYPE, self._result.error)
            span.set_status(StatusCode.ERROR)


def _attributes(delivery: Delivery, task: Task) -> dict[str, AttributeValue]:
    return {
        semantic_names.SYSTEM: semantic_names.HOLDFAST,
        semantic_names.OPERATION_NAME: semantic_names.PROCESS,
        semantic_names.OPERATION_TYPE: semantic_names.PROCESS,
        semantic_names.DESTINATION: delivery.lane,
        semantic_names.MESSAGE_ID: task.operation.message_id,
        semantic_names.CONVERSATION_ID: task.context_id,
        semantic_names.ENVELOPE_SIZE: len(delivery.operation),
        semantic_names.TASK_ID: delivery.task_id,
        semantic_names.TURN: delivery.turn,
        semantic_names.DELIVERY: delivery.delivery,
    }
