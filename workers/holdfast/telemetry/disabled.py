"""Telemetry that is off: it stands in the path of every delivery, so it does nothing at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.delivery import Delivery
from holdfast.core.outcomes import Outcome

if TYPE_CHECKING:
    from holdfast.handler.task import Task


class _Nothing:
    __slots__ = ()

    def __enter__(self) -> _Nothing:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def ended(self, outcome: Outcome) -> None:
        pass


_NOTHING = _Nothing()


class DisabledTelemetry:
    __slots__ = ()

    def delivery(self, delivery: Delivery, task: Task) -> _Nothing:
        return _NOTHING

    def recovered(self, count: int, cause: str) -> None:
        pass

    def shutdown(self) -> None:
        pass
