"""The interface through which workers and stewards report telemetry, without OpenTelemetry."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

from holdfast.core.delivery import Delivery
from holdfast.core.outcomes import Outcome

if TYPE_CHECKING:
    from holdfast.handler.task import Task


class Span(Protocol):
    """One delivery being run."""

    def ended(self, outcome: Outcome) -> None:
        """The handler ended with this outcome; a span without one was cancelled."""
        ...


class Telemetry(Protocol):
    """One process's telemetry. No call waits for the collector, and none raises because it is away."""

    def delivery(self, delivery: Delivery, task: Task) -> AbstractContextManager[Span]:
        """Around one run of a handler; spans that the handler makes are within it. It belongs to the producer's trace
        and links to the producer's span, if the envelope named one."""
        ...

    def recovered(self, count: int, cause: str) -> None:
        """So many tasks were put back; `cause` is what their worker died of."""
        ...

    def shutdown(self) -> None:
        """Send what is left; returns within 2 s even if the collector is away."""
        ...
