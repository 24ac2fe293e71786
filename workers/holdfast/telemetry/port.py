"""What a worker and a steward tell of themselves. Nothing here knows of OpenTelemetry."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from holdfast.core.deliveries import Delivery
from holdfast.core.outcomes import Outcome

if TYPE_CHECKING:
    from holdfast.handler.task import Task


class Span(Protocol):
    """One delivery being run."""

    def ended(self, outcome: Outcome) -> None: ...


class Telemetry(Protocol):
    def delivery(self, delivery: Delivery, task: Task) -> AbstractContextManager[Span]:
        """Around one run of a handler, linked to the producer's span by the task's trace and span ids."""
        ...

    def recovered(self, count: int, cause: str) -> None:
        """Tasks were put back after a death."""
        ...

    def shutdown(self) -> None:
        """Send what is left; at most 2 s."""
        ...
