"""A tracer whose spans have ids that we choose, and the sampling decision that their producer has made."""

from __future__ import annotations

import copy
from threading import Lock
from typing import TYPE_CHECKING, Any, cast

from opentelemetry.context import Context
from opentelemetry.sdk.trace import Tracer as SdkTracer
from opentelemetry.sdk.trace.id_generator import IdGenerator
from opentelemetry.sdk.trace.sampling import ALWAYS_ON, DEFAULT_ON, Decision, Sampler, SamplingResult
from opentelemetry.trace import NonRecordingSpan, Span, TraceFlags, TracerProvider

from holdfast.telemetry import semantic_names
from holdfast.telemetry.planned_span import PlannedSpan
from holdfast.telemetry.producer_span import context as within
from holdfast.telemetry.producer_span import producer
from holdfast.telemetry.run_record import StartedRun
from holdfast.telemetry.span_providers import BatchingProvider
from holdfast.telemetry.usual_span import Plan, UsualSpan
from holdfast.version import installed

if TYPE_CHECKING:
    from holdfast.core.operations import Run

_ALWAYS, _AS_PRODUCER = (cast("Sampler", each).get_description() for each in (ALWAYS_ON, DEFAULT_ON))


class ChosenSpans:
    """Starts spans with a tracer of its own, as other spans of the provider keep their ids.

    A tracer of another kind than the SDK's makes spans with ids of its own.
    """

    def __init__(self, provider: TracerProvider) -> None:
        self._provider = provider if isinstance(provider, BatchingProvider) else None
        self._tracer = tracer = provider.get_tracer(semantic_names.HOLDFAST, installed(), semantic_names.SCHEMA_URL)
        self._sampler: Sampler | None = None
        self._chosen, self._lock = _Chosen(), Lock()
        self._sampling = ""
        if isinstance(tracer, SdkTracer):
            self._tracer = chosen = copy.copy(tracer)
            self._sampler = tracer.sampler
            self._sampling = tracer.sampler.get_description()
            chosen.id_generator = self._chosen
            chosen.sampler = self._chosen

    def start(self, planned: PlannedSpan) -> Span:
        return self._started(planned, self._sampled(planned))

    def start_usual(self, run: StartedRun, plan: Plan) -> Span:
        """A span to which others add nothing, as a rule: the SDK makes it only if they do."""
        take = None if self._provider is None else self._provider.take
        if take is None or not self._is_sampled(run.operation):
            return self.start(plan(run.record()))
        return UsualSpan(run, plan, self.start, take)

    def _is_sampled(self, operation: Run) -> bool:
        """True if the sampler is one that needs to know no more than the producer's decision, and it says yes."""
        if self._sampling == _AS_PRODUCER:
            flags = operation.trace_flags
            return flags is None or bool(flags & TraceFlags.SAMPLED) or producer(operation) is None
        return self._sampling == _ALWAYS

    def _started(self, planned: PlannedSpan, sampled: SamplingResult | None) -> Span:
        if sampled is not None and sampled.decision is Decision.DROP:
            return NonRecordingSpan(planned.context_with(TraceFlags.DEFAULT))
        with self._lock:  # a handler's thread may be here, too
            self._chosen.set(planned, sampled)
            return self._tracer.start_span(
                planned.name,
                _parent(planned),
                planned.kind,
                planned.attributes,
                planned.links,
                planned.start_ns,
            )

    def _sampled(self, planned: PlannedSpan) -> SamplingResult | None:
        """The decision of the provider's own sampler, as if each span were a child of its producer's span."""
        if self._sampler is None:
            return None
        origin = planned.origin
        trace_id = planned.trace_id if origin is None else origin.trace_id
        parent = _parent(planned) if origin is None else within(origin)
        return self._sampler.should_sample(
            parent, trace_id, planned.name, planned.kind, planned.attributes, planned.links
        )


def _parent(planned: PlannedSpan) -> Context:
    return Context() if planned.parent is None else within(planned.parent, Context())


class _Chosen(IdGenerator, Sampler):
    """Ids and decision of the next span."""

    _trace_id = 0
    _span_id = 0
    _sampled: SamplingResult

    def set(self, planned: PlannedSpan, sampled: SamplingResult | None) -> None:
        self._trace_id, self._span_id = planned.trace_id, planned.span_id
        if sampled is not None:
            self._sampled = sampled

    def generate_trace_id(self) -> int:
        return self._trace_id

    def generate_span_id(self) -> int:
        return self._span_id

    def should_sample(self, *_: Any, **__: Any) -> SamplingResult:
        return self._sampled

    def get_description(self) -> str:
        return "decided"
