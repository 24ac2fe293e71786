"""Telemetry through the OpenTelemetry SDK. Imported only where an endpoint is set: it costs 23 MB, with gRPC 40."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.trace import Link, SpanKind, StatusCode
from opentelemetry.util.types import AttributeValue

from holdfast.core.deliveries import Delivery
from holdfast.core.outcomes import Outcome
from holdfast.telemetry import names
from holdfast.telemetry.origin import context, producer, traceparent
from holdfast.telemetry.providers import Providers
from holdfast.telemetry.results import CANCELLED, Result, result

if TYPE_CHECKING:
    from holdfast.handler.task import Task


class Otlp:
    def __init__(self, providers: Providers) -> None:
        self._providers = providers
        self._tracer = providers.tracers.get_tracer(names.HOLDFAST)
        meter = providers.meters.get_meter(names.HOLDFAST)
        self._recovered = meter.create_counter(
            names.RECOVERED, names.RECOVERED_UNIT, "Tasks put back after the death of the worker that ran them."
        )

    @contextmanager
    def delivery(self, delivery: Delivery, task: Task) -> Generator[_Span]:
        origin = producer(task)
        span = self._tracer.start_span(
            f"{names.PROCESS} {delivery.lane}",
            context(origin) if origin else None,
            SpanKind.CONSUMER,
            _attributes(delivery, task),
            [Link(origin)] if origin else (),
        )
        task.span = traceparent(span.get_span_context())
        told = _Span()
        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                yield told
        finally:
            told.tell(span)
            span.end()

    def recovered(self, count: int, cause: str) -> None:
        self._recovered.add(count, {names.CAUSE: cause})

    def shutdown(self) -> None:
        self._providers.shutdown()


class _Span:
    """Remembers how the delivery ended, until the span does."""

    __slots__ = ("_result",)

    def __init__(self) -> None:
        self._result: Result = CANCELLED

    def ended(self, outcome: Outcome) -> None:
        self._result = result(outcome)

    def tell(self, span: trace.Span) -> None:
        span.set_attribute(names.OUTCOME, self._result.outcome)
        if self._result.error:
            span.set_attribute(names.ERROR_TYPE, self._result.error)
            span.set_status(StatusCode.ERROR)


def _attributes(delivery: Delivery, task: Task) -> dict[str, AttributeValue]:
    return {
        names.SYSTEM: names.HOLDFAST,
        names.OPERATION_NAME: names.PROCESS,
        names.OPERATION_TYPE: names.PROCESS,
        names.DESTINATION: delivery.lane,
        names.MESSAGE_ID: task.operation.message_id,
        names.CONVERSATION_ID: task.context_id,
        names.ENVELOPE_SIZE: len(delivery.operation),
        names.TASK_ID: delivery.task_id,
        names.TURN: delivery.turn,
        names.DELIVERY: delivery.delivery,
    }
