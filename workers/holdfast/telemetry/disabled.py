"""Telemetry that is off. Every delivery calls it, so it does nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.delivery import Delivery, Settlement, Verdict
from holdfast.core.outcomes import Outcome

if TYPE_CHECKING:
    from holdfast.handler.task import Task
    from holdfast.telemetry.lost_run import LostRun


class _Nothing:
    __slots__ = ()

    @property
    def traceparent(self) -> str:
        return ""

    def inside(self) -> _Nothing:
        return self

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def ended(self, outcome: Outcome, report: Settlement | None) -> None:
        pass

    def settled(self, verdict: Verdict | None) -> None:
        pass


_NOTHING = _Nothing()


class DisabledTelemetry:
    __slots__ = ()

    @property
    def traces(self) -> bool:
        return False

    def delivery(self, delivery: Delivery, task: Task, handler: str) -> _Nothing:
        return _NOTHING

    @property
    def fires(self) -> None:
        return None

    def lost(self, run: LostRun) -> None:
        pass

    def shutdown(self) -> None:
        pass
