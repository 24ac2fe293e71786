"""A call of the API as its function gets it: the queue and the caller."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from starlette.requests import Request

from holdfast.client.manager import TaskManager
from holdfast.store import Store
from holdfastd.doctor.finding import Finding
from holdfastd.operations.notes import AskedChange
from holdfastd.web.queue.cached_reports import PeriodReports
from holdfastd.web.queue.queue_access import QueueAccess


@dataclass(slots=True)
class ApiCall:
    """`asked`: the change as Activity will have it; `problems`: reads what is wrong now; `reports`: of periods. A
    function that changes something may set `status`, of its answer, and what stands in `asked`."""

    access: QueueAccess
    asked: AskedChange
    request: Request
    problems: Callable[[], Awaitable[list[Finding]]]
    reports: PeriodReports
    status: int = 200

    @property
    def manager(self) -> TaskManager:
        return self.access.manager

    @property
    def store(self) -> Store:
        return self.access.store
