"""Telemetry that needs OpenTelemetry's API but not the SDK.

These functions read the caller's span and baggage, and the producer's span from a task's envelope. ContextOnlyTelemetry
is for workers inside an application that has telemetry of its own.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import (
    NonRecordingSpan,
    ProxyTracerProvider,
    SpanContext,
    TraceFlags,
    TracerProvider,
    get_current_span,
    set_span_in_context,
)

from holdfast.telemetry.port import Span, Telemetry

if TYPE_CHECKING:
    from opentelemetry.baggage.propagation import W3CBaggagePropagator

    from holdfast.core.delivery import Delivery
    from holdfast.core.envelope import Run
    from holdfast.handler.task import Task


BAGGAGE = "baggage"  # the header of W3C


@cache
def _w3c() -> W3CBaggagePropagator:
    """The object that reads and writes `baggage` headers. It is made when it is first used, because few tasks have
    baggage."""
    from opentelemetry.baggage.propagation import W3CBaggagePropagator

    return W3CBaggagePropagator()


def baggage_of(header: str) -> Context:
    """A context that holds only the baggage of this header."""
    return _w3c().extract({BAGGAGE: header}, Context())


def baggage_header() -> str | None:
    """The header for the baggage of the current context; None if there is none."""
    carrier: dict[str, str] = {}
    _w3c().inject(carrier)
    return carrier.get(BAGGAGE)


def current_span() -> SpanContext | None:
    """The context of the current span; None if there is none."""
    context = get_current()
    if not context:  # the usual case, and this check is cheaper than asking the library for the span
        return None
    found = get_current_span(context).get_span_context()
    return found if found.is_valid else None


def provider_in_use() -> TracerProvider | None:
    """The global provider of spans that the application or the handler's module has set; None if no code has set
    one."""
    provider = trace.get_tracer_provider()
    return None if isinstance(provider, ProxyTracerProvider) else provider


def producer(operation: Run) -> SpanContext | None:
    """The span in which the operation was submitted; None if the envelope names none. An envelope without trace flags
    counts as sampled: some producers send no flags, and their tasks would otherwise have no traces."""
    if operation.trace_id is None or operation.span_id is None:
        return None
    flags = TraceFlags(TraceFlags.SAMPLED if operation.trace_flags is None else operation.trace_flags)
    return SpanContext(int(operation.trace_id, 16), int(operation.span_id, 16), is_remote=True, trace_flags=flags)


def context(span: SpanContext, within: Context | None = None) -> Context:
    """The context in which a new span has `span` as its parent."""
    return set_span_in_context(NonRecordingSpan(span), within)


def traceparent(span: SpanContext) -> str:
    """The header of W3C Trace Context, version 00, that names `span`."""
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


class _ProducersSpan(Span):
    """The span of a delivery that is sent nowhere. Inside of it the current span is `origin`, the producer's span."""

    __slots__ = ("_before", "_origin")

    def __init__(self, origin: SpanContext | None) -> None:
        self._origin = origin

    def __enter__(self) -> None:
        self._before = None if self._origin is None else attach(context(self._origin))

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            detach(self._before)


class ContextOnlyTelemetry(Telemetry):
    """Telemetry that sends nothing. Spans that a handler makes become children of the producer's span."""

    traces = True

    def delivery(self, delivery: Delivery, task: Task, handler: str) -> Span:
        return _ProducersSpan(producer(task.operation))
