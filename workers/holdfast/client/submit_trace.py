"""The producer's side of tracing, of which nothing is imported unless the application has imported OpenTelemetry."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from holdfast.telemetry.submit_spans import SubmitSpans


class ProducerTrace(NamedTuple):
    """The span in which a task is submitted, as its envelope names it. `flags`: 2 hex digits of W3C Trace Context;
    `baggage`: a header."""

    trace_id: str | None = None
    span_id: str | None = None
    flags: str | None = None
    baggage: str | None = None


_NONE = ProducerTrace()
_TRACEPARENT = re.compile(
    r"(?!ff)(?P<version>[0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(?P<more>-.*)?"
)
BAGGAGE_BYTES = 4096


def current_trace(*, with_baggage: bool = False) -> ProducerTrace:
    """The span in which the producer submits, so that the run appears in the same trace, or in one linked to it."""
    if "opentelemetry.trace" not in sys.modules:  # who has not imported it has made no span, and it is not small
        return _NONE
    from holdfast.telemetry.current_span import current_span

    header = _baggage() if with_baggage else None
    span = current_span()
    if span is None:
        return _NONE if header is None else ProducerTrace(baggage=header)
    return ProducerTrace(f"{span.trace_id:032x}", f"{span.span_id:016x}", f"{span.trace_flags:02x}", header)


def trace_of_header(traceparent: str) -> ProducerTrace:
    """The span that a `traceparent` of W3C Trace Context names; of an invalid one nothing is read."""
    found = _TRACEPARENT.fullmatch(traceparent.strip())
    if not found or (found["version"] == "00" and found["more"]):  # later versions may have more fields
        return _NONE
    return ProducerTrace(*found.group(2, 3, 4))


def submit_spans() -> SubmitSpans | None:
    """None if the application has no tracer."""
    if "opentelemetry.trace" not in sys.modules:
        return None
    from holdfast.telemetry.submit_spans import of_application

    return of_application()


def _baggage() -> str | None:
    """The baggage of the current context, unless it is too large to travel with each task."""
    from holdfast.telemetry.baggage import written

    header = written()
    return header if header and len(header) <= BAGGAGE_BYTES else None
