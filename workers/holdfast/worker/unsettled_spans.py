"""The spans of deliveries that have ended, until the store has answered their report.

Those of a worker that dies before are dropped with it: the steward that recovers its tasks reports these runs as lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast.core.delivery import Settlement, Verdict
from holdfast.telemetry.port import Span

OnVerdict = Callable[[Settlement, Verdict], None]


@dataclass(slots=True)
class UnsettledSpans:
    _spans: dict[str, Span] = field(default_factory=dict[str, Span])  # by task

    def add(self, task_id: str, span: Span, is_reported: bool) -> None:
        if is_reported:
            self._spans[task_id] = span
        else:
            span.settled(None)

    def before(self, following: OnVerdict) -> OnVerdict:
        """A function that takes verdicts in, then calls `following` with them."""

        def take(settlement: Settlement, verdict: Verdict) -> None:
            span = self._spans.pop(settlement.task_id, None)
            if span is not None:
                span.settled(verdict)
            following(settlement, verdict)

        return take
