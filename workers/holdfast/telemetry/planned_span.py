"""PlannedSpan: the facts about a span that are known before it is started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, TraceFlags, set_span_in_context
from opentelemetry.util.types import AttributeValue

if TYPE_CHECKING:
    from opentelemetry.context import Context

    from holdfast.core.envelope import Run
    from holdfast.telemetry.run_record import RunRecord


_RANDOM = 2  # the flag of a trace whose id is random: children keep it


class PlannedSpan(NamedTuple):
    """`own_trace_id` is the trace if there is no `parent`. The sampler decides as for a child of `origin`. Without
    `origin` it decides as for a child of the parent, or for a root with this trace id."""

    name: str
    own_trace_id: int
    span_id: int
    kind: SpanKind
    attributes: dict[str, AttributeValue]
    parent: SpanContext | None = None
    origin: SpanContext | None = None
    links: Sequence[Link] = ()
    start_ns: int | None = None

    @property
    def trace_id(self) -> int:
        return self.own_trace_id if self.parent is None else self.parent.trace_id

    @property
    def context(self) -> SpanContext:
        """The context of this span, if it is sampled."""
        return self.context_with(TraceFlags.SAMPLED)

    def context_with(self, flags: int) -> SpanContext:
        kept = 0 if self.parent is None else self.parent.trace_flags & _RANDOM
        return SpanContext(self.trace_id, self.span_id, is_remote=False, trace_flags=TraceFlags(flags | kept))


# Reads the producer's span from a task's envelope.


def producer(operation: Run | RunRecord) -> SpanContext | None:
    """The span in which the operation was submitted. An envelope without flags counts as sampled: otherwise tasks of
    producers that send no flags would have no traces."""
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
