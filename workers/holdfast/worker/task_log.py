"""Logs the deliveries of a worker: failures always; consumed and settled tasks only where `log_level` is debug, as at
the speed of a worker a line for each task would cost more than the task."""

from __future__ import annotations

import structlog

from holdfast.core.delivery import Delivery, Settlement
from holdfast.core.outcomes import (
    Completed,
    Deferred,
    Failed,
    HandlerStopped,
    Outcome,
    Raised,
    Rejected,
    UnreadableMessage,
)
from holdfast.core.settle import one_line
from holdfast.handler.task import Task

_log = structlog.get_logger("holdfast.worker")


class TaskLog:
    """`worker` is the incarnation."""

    def __init__(self, worker: str, level: str) -> None:
        self._worker = worker
        self._all = level == "debug"

    def consumed(self, delivery: Delivery, task: Task) -> None:
        if self._all:
            _log.debug("task consumed", **self._names(delivery, task))

    def ended(self, delivery: Delivery, task: Task, outcome: Outcome | Deferred, report: Settlement | None) -> None:
        if type(outcome) is Completed and not self._all:
            return
        match outcome:
            case Raised(failure):
                error, then = f"{failure.type}: {one_line(failure.message)}", str(report.kind) if report else ""
                _log.warning("task failed", error=error, then=then, **self._names(delivery, task))
            case Failed(_, reason) | UnreadableMessage(reason):
                _log.warning("task failed", error=one_line(reason), **self._names(delivery, task))
            case Rejected(_, reason):
                _log.warning("task rejected", error=one_line(reason), **self._names(delivery, task))
            case HandlerStopped(why):
                _log.info("stopped a handler", task=delivery.task_id, why=why)
            case _ if self._all and report:
                _log.debug("task settled", outcome=str(report.kind), **self._names(delivery, task))
            case _:
                pass

    def _names(self, delivery: Delivery, task: Task) -> dict[str, object]:
        return {
            "task": delivery.task_id,
            "lane": delivery.lane,
            "turn": delivery.turn,
            "delivery": delivery.delivery,
            "worker": self._worker,
            "trace": task.trace_id,
        }
