"""The spans of deliveries that have ended, until the store has answered their report.

If the worker dies before, its spans are lost: the steward that recovers its tasks reports these runs as lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.core.delivery import Settlement, Verdict
from holdfast.telemetry.port import Span

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
