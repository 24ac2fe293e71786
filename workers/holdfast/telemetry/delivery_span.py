"""The span of one delivery. It ends when its handler does, and is sent when the store has the outcome: if the worker
dies before that, the steward sends the span instead."""

from __future__ import annotations

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import Span, StatusCode

from holdfast.core.delivery import Settle, Settlement, Verdict
from holdfast.core.outcomes import HandlerStopped, Outcome, Raised
from holdfast.telemetry import semantic_names
from holdfast.telemetry.frames import frames
from holdfast.telemetry.span_results import result

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue

# The events of settlements after which the task is not over, or is over for good.
_EVENTS = {
    Settle.RETRY: semantic_names.RETRY_EVENT,
    Settle.EXHAUSTED: semantic_names.DEAD_LETTER_EVENT,
    Settle.SUSPENDED: semantic_names.PAUSE_EVENT,
    Settle.INPUT_REQUIRED: semantic_names.PAUSE_EVENT,
    Settle.AUTH_REQUIRED: semantic_names.PAUSE_EVENT,
    Settle.RELEASE: semantic_names.RELEASE_EVENT,
}


class DeliverySpan:
    """`baggage`: a context with the producer's baggage, if it is to reach the handler."""

    __slots__ = ("_baggage", "_ended_ns", "_span")

    def __init__(self, span: Span, baggage: Context | None = None) -> None:
        self._span = span
        self._baggage = baggage
        self._ended_ns: int | None = None

    @contextmanager
    def inside(self) -> Generator[None]:
        """Within the block this is the current span, and the parent of those that the handler makes."""
        token = attach(trace.set_span_in_context(self._span, self._baggage or get_current()))
        try:
            yield
        finally:
            detach(token)

    def checkpoint(self, size: int) -> None:
        """The handler has made a checkpoint of so many bytes; from any thread."""
        self._span.add_event(semantic_names.CHECKPOINT_EVENT, {semantic_names.SIZE: size})

    def ended(self, outcome: Outcome, report: Settlement | None) -> None:
        """The handler has ended; `report` is on its way to the store, if there is anything to report."""
        self._ended_ns = time.time_ns()
        if not self._span.is_recording():
            return
        word, error = result(outcome)
        self._span.set_attribute(semantic_names.OUTCOME, word)
        if error:
            self._span.set_attribute(semantic_names.ERROR_TYPE, error)
            self._span.set_status(StatusCode.ERROR)
        if isinstance(outcome, Raised):
            self._add_exception(outcome)
        if isinstance(outcome, HandlerStopped):
            self._span.set_attribute(semantic_names.STOPPED_BY, outcome.why)
        if report is not None and report.kind in _EVENTS:
            self._span.add_event(_EVENTS[report.kind], _about(report), self._ended_ns)

    def settled(self, verdict: Verdict | None) -> None:
        """Send the span. `verdict`: the store's answer to the report; None if there was nothing to report."""
        if verdict in {Verdict.LOST, Verdict.GONE}:
            self._span.set_attribute(semantic_names.OUTCOME, semantic_names.TOO_LATE)
        self._span.end(self._ended_ns)

    def _add_exception(self, raised: Raised) -> None:
        attributes = {semantic_names.EXCEPTION_TYPE: raised.failure.type}
        if stack := frames(raised.failure.traceback):
            attributes[semantic_names.EXCEPTION_STACK] = stack
        self._span.add_event(semantic_names.EXCEPTION_EVENT, attributes, self._ended_ns)


def _about(report: Settlement) -> dict[str, AttributeValue]:
    about: dict[str, AttributeValue] = {semantic_names.SETTLEMENT: str(report.kind)}
    if report.kind is Settle.RETRY:
        about[semantic_names.DELAY] = report.delay_ms / 1000
    return about
