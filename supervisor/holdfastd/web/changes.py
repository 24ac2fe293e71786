"""The changes that a page can ask for: each is one call of the producer's API, written down with who asked."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.client.manager import TaskManager
from holdfast.core.activity import Activity
from holdfast.errors import HoldfastError, StoreError
from holdfastd.web.forms import read_form, visitor_of
from holdfastd.web.queue_access import QueueAccess

MOST = 500  # characters of a text that is kept


@dataclass(frozen=True, slots=True)
class Change:
    """`field`: of the form, names the subject; `back`: the page that shows it, `=` at its end: followed by its id;
    `call`: carries it out, with a reason that says who asked."""

    path: str
    field: str
    back: str
    call: Callable[[TaskManager, str, str], Awaitable[Any]]


async def _run_schedule(manager: TaskManager, schedule_id: str, _: str) -> None:
    await manager.schedules.run(schedule_id)


CHANGES = (
    Change(
        "/tasks/cancel", "task_id", "/task?id=", lambda manager, task, why: manager.cancel_task(task, f"canceled {why}")
    ),
    Change(
        "/tasks/pause", "task_id", "/task?id=", lambda manager, task, why: manager.pause_task(task, f"paused {why}")
    ),
    Change("/tasks/resume", "task_id", "/task?id=", lambda manager, task, _: manager.resume_task(task)),
    Change(
        "/tasks/retry", "task_id", "/task?id=", lambda manager, task, why: manager.retry_task(task, f"retried {why}")
    ),
    Change("/tasks/remove", "task_id", "/tasks?", lambda manager, task, _: manager.remove_task(task)),
    Change("/lanes/pause", "lane", "/lanes?", lambda manager, lane, why: manager.pause_queue(lane, f"paused {why}")),
    Change("/lanes/resume", "lane", "/lanes?", lambda manager, lane, _: manager.resume_queue(lane)),
    Change("/schedules/run", "schedule_id", "/schedules?", _run_schedule),
    Change(
        "/schedules/pause",
        "schedule_id",
        "/schedules?",
        lambda manager, one, why: manager.schedules.pause(one, f"paused {why}"),
    ),
    Change("/schedules/resume", "schedule_id", "/schedules?", lambda manager, one, _: manager.schedules.resume(one)),
    Change("/schedules/remove", "schedule_id", "/schedules?", lambda manager, one, _: manager.schedules.remove(one)),
)


def carry_out(change: Change) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of this change; it leads back to the page that shows the subject."""

    async def endpoint(request: Request) -> Response:
        fields = await read_form(request)
        access: QueueAccess = request.app.state.access
        subject, visitor = fields.get(change.field, ""), visitor_of(request)
        activity = Activity(visitor.name, origin(request), change.path.removeprefix("/"), subject)
        try:
            await change.call(access.manager, subject, f"by {activity.who} on the web, from {activity.origin}")
        except HoldfastError as error:
            await _note(access, replace(activity, outcome=str(error)))
            raise
        await _note(access, activity)
        return RedirectResponse(_page_of(change, subject), 303)

    return endpoint


def origin(request: Request) -> str:
    """The address that a request comes from."""
    return request.client.host if request.client else "a local socket"


async def _note(access: QueueAccess, activity: Activity) -> None:
    """A change counts although the note of it fails: it was made, or refused, before."""
    bounded = replace(activity, subject=activity.subject[:MOST], outcome=activity.outcome[:MOST])
    with suppress(StoreError):
        await access.store.note_activity(bounded)


def _page_of(change: Change, subject: str) -> str:
    return change.back + quote(subject, safe="") if change.back.endswith("=") else change.back.rstrip("?")
