"""PlannedSpan: the facts about a span that are known before it is started."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opentelemetry.trace import Link, SpanContext, SpanKind, TraceFlags
from opentelemetry.util.types import AttributeValue

_RANDOM = 2  # the flag of a trace whose id is random: children keep it


class PlannedSpan(NamedTuple):
    """`own_trace_id` counts if there is no `parent`. The sampler decides as it would for a child of `origin`, be that
    the parent or not; without `origin`, as for the parent, or for a root with this trace id."""

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
