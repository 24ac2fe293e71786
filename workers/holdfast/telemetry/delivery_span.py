"""The span of one delivery. The span ends when the handler ends, and the worker sends it when the store has the
outcome. If the worker dies before that, the steward sends the span instead.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, NamedTuple

from opentelemetry import trace
from opentelemetry.context import Context, attach, detach, get_current
from opentelemetry.trace import (
    Link,
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    StatusCode,
    TraceFlags,
)
from opentelemetry.util.types import AttributeValue

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
from holdfast.telemetry import port, semantic_names
from holdfast.telemetry.runs import StartedRun
from holdfast.telemetry.without_sdk import traceparent

_RANDOM = 2  # the W3C flag of a trace whose id is random: the flags of child spans keep it


class PlannedSpan(NamedTuple):
    """The facts about a span that are known before the span is started.

    `own_trace_id` is the id of the trace if there is no `parent`. `origin`: the sampler decides like for a child of
    this span. Without `origin`, the sampler decides by the parent; without a parent, like for a root span.
    """

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


Plan = Callable[[StartedRun], PlannedSpan]
Take = Callable[[PlannedSpan, int], None]  # arguments: a span and the time of its end in Unix nanoseconds


def _of_whole(method: Callable[..., None]) -> Callable[..., None]:
    """Make a method that calls the method of the same name of the SDK's span. If there is no SDK's span yet, the method
    makes it."""

    def call(span: FastSpan, *args: Any, **kwargs: Any) -> None:
        getattr(span.whole(), method.__name__)(*args, **kwargs)

    return call


class FastSpan(Span):
    """A span that is a plain record, and is encoded when it ends. If a handler adds to the span, the SDK makes a full
    span in its place.

    The SDK's spans take locks, copy attributes and are encoded object by object. For a task of 1 ms this would be a
    tenth of the time, and few handlers touch the span around them.

    `plan` makes the planned span from the run, when it is needed. `make` has the SDK start the planned span. `take`
    sends the planned span without the SDK.
    """

    __slots__ = ("_is_over", "_lock", "_made", "_make", "_notes", "_plan", "_run", "_take")

    def __init__(self, run: StartedRun, plan: Plan, make: Callable[[PlannedSpan], Span], take: Take) -> None:
        self._run = run
        self._plan = plan
        self._make = make
        self._take = take
        self._made: Span | None = None
        self._notes: dict[str, str] = {}
        self._is_over = False
        self._lock = Lock()  # handlers may touch it from any thread

    def note(self, name: str, value: str) -> None:
        """Add an attribute of Holdfast."""
        if self._made is not None:
            self._made.set_attribute(name, value)
        else:
            self._notes[name] = value

    def end(self, end_time: int | None = None) -> None:
        with self._lock:
            was_over, self._is_over = self._is_over, True
        if self._made is not None:
            self._made.end(end_time)
        elif not was_over:
            planned = self._plan(self._run)
            planned.attributes.update(self._notes)
            self._take(planned, end_time or time.time_ns())

    def get_span_context(self) -> SpanContext:
        return self._plan(self._run).context if self._made is None else self._made.get_span_context()

    def is_recording(self) -> bool:
        return not self._is_over if self._made is None else self._made.is_recording()

    set_attribute = _of_whole(Span.set_attribute)
    set_attributes = _of_whole(Span.set_attributes)
    add_event = _of_whole(Span.add_event)
    add_link = _of_whole(Span.add_link)
    update_name = _of_whole(Span.update_name)
    set_status = _of_whole(Span.set_status)
    record_exception = _of_whole(Span.record_exception)

    def __getattr__(self, name: str) -> Any:
        """The attribute of the SDK's span, for attributes outside the interface Span, such as `attributes`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.whole(), name)

    def whole(self) -> Span:
        """The SDK's span, which is made at the first call."""
        with self._lock:
            if self._made is None:
                planned = self._plan(self._run)
                self._made = NonRecordingSpan(planned.context) if self._is_over else self._make(planned)
                for name, value in self._notes.items():
                    self._made.set_attribute(name, value)
            return self._made


# The frames of a traceback: file, line and function. Error messages and lines of source code are left out, because they
# may contain private data. `supervisor tasks show` prints them.

_FRAME = re.compile(r'^[ |]*File "[^"\n]+", line [0-9]+, in [^\n]+$', re.MULTILINE)


def frames(traceback: str) -> str:
    """The frames in the traceback of an error and of its causes, one a line, the innermost last."""
    return "\n".join(match.lstrip(" |") for match in _FRAME.findall(traceback))


# The words in a span for an outcome.


class SpanResult(NamedTuple):
    """An outcome as a span shows it. `outcome` is one word. `error` is the class of the error, empty for none. The
    error's message is left out, because it may contain private data; `supervisor tasks show` prints it."""

    outcome: str
    error: str = ""


_WORDS = {
    Completed: "completed",
    Asleep: "sleep",
    HandlerStopped: "stopped",
    Failed: "failed",
    Rejected: "rejected",
    UnreadableMessage: "unreadable",
}
_ERRORS = frozenset({"failed", "rejected", "unreadable"})


def result(outcome: Outcome) -> SpanResult:
    if isinstance(outcome, InputAsked):
        return SpanResult(outcome.state)
    if isinstance(outcome, Raised):
        return SpanResult("raised", outcome.failure.type)
    word = _WORDS[type(outcome)]
    return SpanResult(word, word if word in _ERRORS else "")


# The events that a span gets for these settlements: the task goes on later, or has become a dead letter.
_EVENTS = {
    Settle.RETRY: semantic_names.RETRY_EVENT,
    Settle.EXHAUSTED: semantic_names.DEAD_LETTER_EVENT,
    Settle.SUSPENDED: semantic_names.PAUSE_EVENT,
    Settle.INPUT_REQUIRED: semantic_names.PAUSE_EVENT,
    Settle.AUTH_REQUIRED: semantic_names.PAUSE_EVENT,
    Settle.RELEASE: semantic_names.RELEASE_EVENT,
}


class DeliverySpan(port.Span):
    """The span of one delivery, sent through OpenTelemetry. `baggage`: a context with the producer's baggage; None if
    the handler does not get the baggage."""

    __slots__ = ("_baggage", "_before", "_ended_ns", "_outcome", "_report", "_span")

    def __init__(self, span: Span, baggage: Context | None = None) -> None:
        self._span = span
        self._baggage = baggage
        self._ended_ns: int | None = None
        self._outcome: Outcome | None = None
        self._report: Settlement | None = None

    def __enter__(self) -> None:
        self._before = attach(trace.set_span_in_context(self._span, self._baggage or get_current()))

    def __exit__(self, *_: object) -> None:
        detach(self._before)

    @property
    def traceparent(self) -> str:
        return traceparent(self._span.get_span_context())

    def checkpoint(self, size: int) -> None:
        """Record a checkpoint of `size` bytes. Any thread may call this."""
        self._span.add_event(semantic_names.CHECKPOINT_EVENT, {semantic_names.SIZE: size})

    def ended(self, outcome: Outcome, report: Settlement | None) -> None:
        """Record that the handler has ended with this outcome. `report`: the settlement on its way to the store; None
        if there is nothing to report."""
        self._ended_ns, self._outcome, self._report = time.time_ns(), outcome, report

    def settled(self, verdict: Verdict | None) -> None:
        """Send the span. `verdict`: the store's answer to the report; None if there was nothing to report."""
        if self._outcome is not None and self._span.is_recording():
            self._tell(self._outcome, self._report)
        if verdict is Verdict.LOST or verdict is Verdict.GONE:
            self._note(semantic_names.OUTCOME, semantic_names.TOO_LATE)
        self._span.end(self._ended_ns)

    def _tell(self, outcome: Outcome, report: Settlement | None) -> None:
        """Add the facts about the end of the delivery to the span."""
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
