"""The span of one delivery. It ends when its handler does, and is sent when the store has the outcome: if the worker
dies before that, the steward sends the span instead.
"""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, NamedTuple

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import Span, StatusCode

from holdfast.core.delivery import Settle, Settlement, Verdict
from holdfast.core.outcomes import (
    Asleep,
    Completed,
    Failed,
    HandlerStopped,
    InputAsked,
    Outcome,
    Raised,
    Rejected,
    UnreadableMessage,
)
from holdfast.telemetry import semantic_names
from holdfast.telemetry.fast_span import FastSpan
from holdfast.telemetry.planned_span import traceparent

if TYPE_CHECKING:
    from opentelemetry.util.types import AttributeValue


# The frames of a traceback: file, line and function. Messages of errors and lines of source are left out, for they may
# hold anything; `supervisor tasks show` has them.

_FRAME = re.compile(r'^[ |]*File "[^"\n]+", line [0-9]+, in [^\n]+$', re.MULTILINE)


def frames(traceback: str) -> str:
    """The frames of an error and of its chain, one on each line, the innermost last."""
    return "\n".join(match.lstrip(" |") for match in _FRAME.findall(traceback))


# Turns an outcome into the words that a span shows.


class SpanResult(NamedTuple):
    """`outcome` is one word; `error` is the class of the error, empty for none. Messages of errors are left out because
    they may hold anything; `supervisor tasks show` has them."""

    outcome: str
    error: str = ""


CANCELLED = SpanResult("stopped")


def result(outcome: Outcome) -> SpanResult:
    match outcome:
        case Completed():
            return SpanResult("completed")
        case InputAsked(state):
            return SpanResult(state)
        case Asleep():
            return SpanResult("sleep")
        case HandlerStopped():
            return CANCELLED
        case Failed() | Rejected():
            word = "failed" if isinstance(outcome, Failed) else "rejected"
            return SpanResult(word, word)
        case UnreadableMessage():
            return SpanResult("unreadable", "unreadable")
        case Raised(failure):
            return SpanResult("raised", failure.type)


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

    __slots__ = ("_baggage", "_before", "_ended_ns", "_outcome", "_report", "_span")

    def __init__(self, span: Span, baggage: Context | None = None) -> None:
        self._span = span
        self._baggage = baggage
        self._ended_ns: int | None = None
        self._outcome: Outcome | None = None
        self._report: Settlement | None = None

    def inside(self) -> DeliverySpan:
        """Within the block this is the current span, and the parent of spans that the handler makes."""
        return self

    def __enter__(self) -> None:
        self._before = attach(trace.set_span_in_context(self._span, self._baggage or get_current()))

    def __exit__(self, *_: object) -> None:
        detach(self._before)

    @property
    def traceparent(self) -> str:
        return traceparent(self._span.get_span_context())

    def checkpoint(self, size: int) -> None:
        """Note a checkpoint of this many bytes; may be called from any thread."""
        self._span.add_event(semantic_names.CHECKPOINT_EVENT, {semantic_names.SIZE: size})

    def ended(self, outcome: Outcome, report: Settlement | None) -> None:
        """The handler has ended; `report` is on its way to the store, if there is anything to report."""
        self._ended_ns, self._outcome, self._report = time.time_ns(), outcome, report

    def settled(self, verdict: Verdict | None) -> None:
        """Send the span. `verdict`: the store's answer to the report; None if there was nothing to report."""
        if self._outcome is not None and self._span.is_recording():
            self._tell(self._outcome, self._report)
        if verdict is Verdict.LOST or verdict is Verdict.GONE:
            self._note(semantic_names.OUTCOME, semantic_names.TOO_LATE)
        self._span.end(self._ended_ns)

    def _tell(self, outcome: Outcome, report: Settlement | None) -> None:
        """Add the facts about the end to the span. This happens here, because many spans are settled at once."""
        word, error = result(outcome)
        self._note(semantic_names.OUTCOME, word)
        if error:
            self._note(semantic_names.ERROR_TYPE, error)
            self._span.set_status(StatusCode.ERROR)
        if isinstance(outcome, Raised):
            self._add_exception(outcome)
        if isinstance(outcome, HandlerStopped):
            self._note(semantic_names.STOPPED_BY, outcome.why)
        if report is not None and report.kind is not Settle.COMPLETED and report.kind in _EVENTS:
            self._span.add_event(_EVENTS[report.kind], _about(report), self._ended_ns)

    def _note(self, name: str, value: str) -> None:
        if isinstance(self._span, FastSpan):
            self._span.note(name, value)
        else:
            self._span.set_attribute(name, value)

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
