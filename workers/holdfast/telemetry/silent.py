"""Telemetry that is off."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.core.deliveries import Delivery
from holdfast.core.outcomes import Outcome

if TYPE_CHECKING:
    from holdfast.handler.task import Task


class _Quiet:
    def __enter__(self) -> _Quiet:
        return self

    def __exit__(self, *_: object) -> None:
        return None

    def ended(self, outcome: Outcome) -> None:
        pass


_QUIET = _Quiet()


class Silent:
    def delivery(self, delivery: Delivery, task: Task) -> _Quiet:
        return _QUIET

    def recovered(self, count: int, cause: str) -> None:
        pass

    def shutdown(self) -> None:
        pass
