"""FastSpan: a span that is a plain record, encoded with others when they are sent, unless a handler adds to it.

The SDK's spans take locks, copy attributes and are encoded object by object: a tenth of the time of a task of 1 ms. Few
handlers touch the span around them. When one does, the SDK makes the planned span.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Any, NamedTuple

from opentelemetry.trace import NonRecordingSpan, Span, SpanContext, Status, StatusCode, TraceFlags
from opentelemetry.util.types import Attributes, AttributeValue

from holdfast.telemetry.planned_span import PlannedSpan
from holdfast.telemetry.run_record import RunRecord, StartedRun

Plan = Callable[[RunRecord], PlannedSpan]
_SAMPLED = SpanContext(1, 1, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))


class EndedSpan(NamedTuple):
    """`notes`: attributes of its end. Processors of the SDK read `context` to see whether it is sampled."""

    record: RunRecord
    plan: Plan
    notes: Mapping[str, str]
    end_ns: int
    context: SpanContext = _SAMPLED


Take = Callable[[EndedSpan], None]


class FastSpan(Span):
    """`plan` is called when the plan is needed. `make` has the SDK start the span. `take` sends the plain record."""

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
            self._take(EndedSpan(self._run.record(), self._plan, self._notes, end_time or time.time_ns()))

    def get_span_context(self) -> SpanContext:
        return self._planned().context if self._made is None else self._made.get_span_context()

    def is_recording(self) -> bool:
        return not self._is_over if self._made is None else self._made.is_recording()

    def set_attribute(self, key: str, value: AttributeValue) -> None:
        self._whole().set_attribute(key, value)

    def set_attributes(self, attributes: Mapping[str, AttributeValue]) -> None:
        self._whole().set_attributes(attributes)

    def add_event(self, name: str, attributes: Attributes = None, timestamp: int | None = None) -> None:
        self._whole().add_event(name, attributes, timestamp)

    def add_link(self, context: SpanContext, attributes: Attributes = None) -> None:
        self._whole().add_link(context, attributes)

    def update_name(self, name: str) -> None:
        self._whole().update_name(name)

    def set_status(self, status: Status | StatusCode, description: str | None = None) -> None:
        self._whole().set_status(status, description)

    def record_exception(
        self,
        exception: BaseException,
        attributes: Attributes = None,
        timestamp: int | None = None,
        escaped: bool = False,
    ) -> None:
        self._whole().record_exception(exception, attributes, timestamp, escaped)

    def __getattr__(self, name: str) -> Any:
        """Attributes that spans of the SDK have beyond the interface, such as `attributes`."""
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._whole(), name)

    def _planned(self) -> PlannedSpan:
        return self._plan(self._run.record())

    def _whole(self) -> Span:
        """The SDK's span, which is made at the first call."""
        with self._lock:
            if self._made is None:
                planned = self._planned()
                self._made = NonRecordingSpan(planned.context) if self._is_over else self._make(planned)
                for name, value in self._notes.items():
                    self._made.set_attribute(name, value)
            return self._made
