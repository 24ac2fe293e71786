"""Telemetry of workers inside an application with its own telemetry. Holdfast sends nothing; spans of a handler belong
to the span in which its task was submitted."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from opentelemetry.context import attach, detach

from holdfast.core.delivery import Delivery, Settlement, Verdict
from holdfast.core.outcomes import Outcome
from holdfast.telemetry.planned_span import context, producer

if TYPE_CHECKING:
    from opentelemetry.trace import SpanContext

    from holdfast.handler.task import Task
    from holdfast.telemetry.lost_run import LostRun


class _ProducersSpan:
    __slots__ = ("_origin",)

    def __init__(self, origin: SpanContext | None) -> None:
        self._origin = origin

    @property
    def traceparent(self) -> str:
        return ""

    @contextmanager
    def inside(self) -> Generator[None]:
        if self._origin is None:
            yield
            return
        token = attach(context(self._origin))
        try:
            yield
        finally:
            detach(token)

    def ended(self, outcome: Outcome, report: Settlement | None) -> None:
        pass

    def settled(self, verdict: Verdict | None) -> None:
        pass


class ContextOnlyTelemetry:
    __slots__ = ()

    @property
    def traces(self) -> bool:
        return True

    def delivery(self, delivery: Delivery, task: Task, handler: str) -> _ProducersSpan:
        return _ProducersSpan(producer(task.operation))

    @property
    def fires(self) -> None:
        return None

    def lost(self, run: LostRun) -> None:
        pass

    def shutdown(self) -> None:
        pass
