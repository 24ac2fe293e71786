"""Reads the producer's span from a task's envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from holdfast.core.operations import Run
    from holdfast.telemetry.run_record import RunRecord


def producer(operation: Run | RunRecord) -> SpanContext | None:
    """The span in which the operation was submitted. An envelope without flags counts as sampled: else the tasks of
    producers that send none would have no traces."""
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
