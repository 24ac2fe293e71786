"""Telemetry of workers inside an application that has its own: nothing is sent by us, and what a handler makes belongs
to the span in which its task was submitted."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry.context import attach, detach

from holdfast.core.delivery import Delivery
from holdfast.core.outcomes import Outcome
from holdfast.telemetry.producer_span import context, producer

if TYPE_CHECKING:
    from holdfast.handler.task import Task


class _Untold:
    def ended(self, outcome: Outcome) -> None:
        pass


_UNTOLD = _Untold()


class ContextOnlyTelemetry:
    __slots__ = ()

    @contextmanager
    def delivery(self, delivery: Delivery, task: Task) -> Generator[_Untold]:
        origin = producer(task)
        if origin is None:
            yield _UNTOLD
            return
        token = attach(context(origin))
        try:
            yield _UNTOLD
        finally:
            detach(token)

    def recovered(self, count: int, cause: str) -> None:
        pass

    def shutdown(self) -> None:
        pass
