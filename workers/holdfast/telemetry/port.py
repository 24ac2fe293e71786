"""The interface through which workers and stewards report telemetry, without OpenTelemetry."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from holdfast.core.delivery import Delivery, Settlement, Verdict
from holdfast.core.outcomes import Outcome

if TYPE_CHECKING:
    from holdfast.core.schedule_records import Fire
    from holdfast.handler.task import Task
    from holdfast.telemetry.lost_run import LostRun


class Span(Protocol):
    """The span of one delivery. It is sent when the store has the outcome. If the worker dies before that, the steward
    reports the run as lost."""

    @property
    def traceparent(self) -> str:
        """The `traceparent` header of this span; empty if Holdfast sends no spans."""
        ...

    def inside(self) -> AbstractContextManager[object]:
        """A context manager around the run of the handler; the handler's spans become children of this one."""
        ...

    def ended(self, outcome: Outcome, report: Settlement | None) -> None:
        """The handler ended with this outcome; `report` is to be sent to the store, if there is anything to report."""
        ...

    def settled(self, verdict: Verdict | None) -> None:
        """Note the store's answer to the report; None: nothing was reported."""
        ...


class FireSpans(Protocol):
    """The spans of fires, in which schedules make tasks. Several processes may prepare a fire; its span has the same id
    in all of them, and the process that makes the fire sends it."""

    def names(self, task_id: str) -> tuple[str, str, str]:
        """The trace, the span and the flags for the envelope of this task."""
        ...

    def fired(self, schedule_id: str, fire: Fire) -> None: ...


class Telemetry(Protocol):
    """One process's telemetry. No call waits for the collector, and none raises because it is away."""

    @property
    def traces(self) -> bool:
        """True if spans are made."""
        ...

    def delivery(self, delivery: Delivery, task: Task, handler: str) -> Span:
        """The span of one run of `handler`. It links or belongs to the producer's span, if the envelope names one."""
        ...

    @property
    def fires(self) -> FireSpans | None:
        """The spans of fires; None if no spans are made."""
        ...

    def lost(self, run: LostRun) -> None:
        """Report a run whose worker was lost."""
        ...

    def shutdown(self) -> None:
        """Send the rest; returns within 2 s even if the collector is away."""
        ...


# The spans of deliveries that have ended, until the store has answered their report.
#
# If the worker dies before, its spans are lost: the steward that recovers its tasks reports these runs as lost.

OnVerdict = Callable[[Settlement, Verdict], None]


@dataclass(slots=True)
class UnsettledSpans:
    _spans: dict[tuple[str, str], Span] = field(default_factory=dict[tuple[str, str], Span])  # by task and claim

    def add(self, report: Settlement | None, span: Span) -> None:
        """Keep a span. `report`: the settlement on its way to the store; None if nothing is reported."""
        if report is None:
            span.settled(None)
        else:
            self._spans[report.task_id, report.claim] = span

    def before(self, following: OnVerdict) -> OnVerdict:
        """A function that sends the spans of these verdicts, then calls `following` with the verdicts."""

        def take(settlement: Settlement, verdict: Verdict) -> None:
            span = self._spans.pop((settlement.task_id, settlement.claim), None)
            if span is not None:
                span.settled(verdict)
            following(settlement, verdict)

        return take
