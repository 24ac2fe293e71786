"""Reads the producer's span from a task's envelope."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from holdfast.handler.task import Task


def producer(task: Task) -> SpanContext | None:
    """The span in which the task was submitted. Envelopes carry no flags: it is taken as sampled, or none would be."""
    if task.trace_id is None or task.span_id is None:
        return None
    return SpanContext(int(task.trace_id, 16), int(task.span_id, 16), is_remote=True, trace_flags=_SAMPLED)


def context(span: SpanContext) -> Context:
    """The context in which a new span has `span` as its parent."""
    return set_span_in_context(NonRecordingSpan(span))


def traceparent(span: SpanContext) -> str:
    """The header of W3C Trace Context, version 00, that names `span`."""
    return f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"


_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
