"""Logs the deliveries of a worker: failures always; claimed, started and settled tasks only where `log_level` is debug,
as at the speed of a worker a line for each task would cost more than the task."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import suppress

import structlog

from holdfast.core.delivery import Delivery, Settlement
from holdfast.core.outcomes import (
    Completed,
    Deferred,
    Failed,
    Failure,
    HandlerStopped,
    Outcome,
    Raised,
    Rejected,
    UnreadableMessage,
)
from holdfast.core.settle import one_line
from holdfast.exits import ChildExit
from holdfast.handler.task import Task
from holdfast.os.forked_copy import end_copy

_log = structlog.get_logger("holdfast.worker")


class TaskLog:
    def __init__(self, level: str) -> None:
        self._all = level == "debug"

    def claimed(self, deliveries: Iterable[Delivery]) -> None:
        if self._all:
            for each in deliveries:
                _log.debug("task claimed", **_names(each))

    def started(self, task: Task) -> None:
        if self._all:
            _log.debug("task started", **task.log_fields())

    def ended(self, task: Task, outcome: Outcome | Deferred, report: Settlement | None) -> None:
        if type(outcome) is Completed and not self._all:
            return
        match outcome:
            case Raised(failure):
                error, then = f"{failure.type}: {one_line(failure.message)}", str(report.kind) if report else ""
                _log.warning("task failed", error=error, then=then, **task.log_fields())
            case Failed(_, reason) | UnreadableMessage(reason):
                _log.warning("task failed", error=one_line(reason), **task.log_fields())
            case Rejected(_, reason):
                _log.warning("task rejected", error=one_line(reason), **task.log_fields())
            case HandlerStopped(why):
                _log.info("stopped a handler", reason=why, **task.log_fields())
            case _ if self._all and report:
                _log.debug("task settled", outcome=str(report.kind), **task.log_fields())
            case _:
                pass


class LogOfCopy(TaskLog):
    """Replaces the log in a process that a handler forked. The delivery belongs to the worker: this process ends."""

    def ended(self, task: Task, outcome: Outcome | Deferred, report: Settlement | None) -> None:
        match outcome:
            case Raised(Failure("SystemExit", status)):
                end_copy(SystemExit(int(status) if status.isdecimal() else status or None))
            case HandlerStopped() | Raised(Failure("asyncio.exceptions.CancelledError")):  # it never came to its end
                end_copy(SystemExit(int(ChildExit.BUG)))
            case Raised(failure):
                with suppress(BaseException):  # the stream may be the user's
                    sys.stderr.write(failure.traceback or failure.message)
                end_copy(SystemExit(1))
            case _:
                end_copy()


def _names(delivery: Delivery) -> dict[str, object]:
    """A delivery as log lines name it before its operation is read."""
    return {
        "task": delivery.task_id,
        "turn": delivery.turn,
        "delivery": delivery.delivery,
        "lane": delivery.lane,
        "worker": delivery.incarnation,
    }
