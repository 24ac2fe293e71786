"""A tracer whose spans have ids that we choose, and the sampling decision that their producer has made."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import Sampler, SamplingResult
from opentelemetry.trace import Link, Span, SpanContext, SpanKind, Tracer
from opentelemetry.util.types import Attributes

from holdfast.telemetry.producer_span import context as within


class ChosenSpans:
    """Starts spans with a copy of `tracer`, as other spans of its provider keep their ids. For one thread.

    A tracer of another kind than the SDK's makes spans with ids of its own.
    """

    def __init__(self, tracer: Tracer) -> None:
        self._ids = _ChosenIds()
        self._tracer = tracer
        self._decision: _ProducersDecision | None = None
        if isinstance(tracer, SdkTracer):
            self._tracer = chosen = copy.copy(tracer)
            chosen.id_generator = self._ids
            chosen.sampler = self._decision = _ProducersDecision(tracer.sampler)

    def start(
        self,
        name: str,
        trace_id: str,
        span_id: str,
        *,
        parent: Context,
        origin: SpanContext | None,
        kind: SpanKind,
        attributes: Attributes,
        links: Sequence[Link] = (),
        start_ns: int | None = None,
    ) -> Span:
        """`trace_id` counts if `parent` has no span. The sampler decides as it would for a child of `origin`, be
        that the parent or not; without `origin`, as for the parent, or for a root with this trace id."""
        self._ids.trace_id, self._ids.span_id = int(trace_id, 16), int(span_id, 16)
        if self._decision is not None:
            self._decision.origin = origin
        return self._tracer.start_span(name, parent, kind, attributes, links, start_ns)


class _ChosenIds(IdGenerator):
    trace_id = 0
    span_id = 0

    def generate_trace_id(self) -> int:
        return self.trace_id

    def generate_span_id(self) -> int:
        return self.span_id


class _ProducersDecision(Sampler):
    """Asks the provider's own sampler as if each span were a child of its producer's span."""

    def __init__(self, sampler: Sampler) -> None:
        self.origin: SpanContext | None = None
        self._sampler = sampler

    def should_sample(self, parent_context: Context | None, trace_id: int, *rest: Any, **named: Any) -> SamplingResult:
        if self.origin is not None:
            parent_context, trace_id = within(self.origin), self.origin.trace_id
        return self._sampler.should_sample(parent_context, trace_id, *rest, **named)

    def get_description(self) -> str:
        return self._sampler.get_description()
