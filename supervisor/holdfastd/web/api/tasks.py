"""Operations on tasks."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta
from starlette.responses import Response

from holdfast.client.task_filter import TaskListing
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Accepted
from holdfast.why.document import WhyDocument
from holdfastd.documents import task_documents
from holdfastd.documents.task_documents import ListedTask, WholeTask
from holdfastd.operations.act import Face
from holdfastd.operations.submit_tasks import SUBMIT_TASKS, SubmitTasks, TaskReceipt, TaskSpecs
from holdfastd.operations.tasks import (
    CANCEL_TASK,
    PAUSE_TASK,
    REMOVE_TASK,
    RESUME_TASK,
    RETRY_TASK,
    SEND_MESSAGE,
)
from holdfastd.web.access.forms import doing
from holdfastd.web.api.act_route import route
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.api.types import Limit
from holdfastd.web.live.event_streams import task_stream
from holdfastd.web.live.stream_response import held
from holdfastd.web.queue.found_tasks import Cursor, found_tasks


async def submit_tasks(call: ApiCall, body: TaskSpec | TaskSpecs) -> TaskReceipt | list[TaskReceipt]:
    """Submit one task, or a list of tasks.

    201 if there is a new one. The same task with the same id again is answered with 200, other content under its id
    with 409. All of a list are checked before the first is written.
    """
    tasks = [body] if isinstance(body, TaskSpec) else body
    receipts = await SUBMIT_TASKS.carry_out(doing(call.access, call.asked, Face.API), SubmitTasks(tasks))
    call.status = 201 if any(each["answer"] == Accepted.NEW for each in receipts) else 200
    return receipts[0] if isinstance(body, TaskSpec) else receipts


SUBMITTED = {
    "text": {"text": "hello"},
    "handler": {"name": "billing.send_statement", "kwargs": {"region": "eu"}, "task_id": "statement-7", "delay": 60},
    "list": [{"text": "one", "key": "import-7-1"}, {"text": "two", "key": "import-7-2"}],
}
INTAKE = (ApiOperation("POST", "/tasks", submit_tasks, SUBMIT_TASKS, (201, 200), SUBMITTED),)


LONGEST_WAIT = 60.0  # seconds

Wait = Annotated[
    float,
    Meta(
        ge=0,
        le=LONGEST_WAIT,
        description="Answer once the task has ended or asks for input, or after so many seconds as it is then.",
    ),
]


class TaskListQuery(TaskListing, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page of the tasks that a filter finds."""

    limit: Limit = 100
    cursor: Cursor = ""


class TaskList(TypedDict):
    """A page of tasks. `unreadable`: ids of tasks whose records cannot be read; `searched`: the number of tasks that
    were looked at; `cursor`: continues the list, empty at its end. A page may hold fewer tasks than asked for, even
    none, and not be the last one."""

    tasks: list[ListedTask]
    unreadable: list[str]
    searched: int
    cursor: str


class WaitQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    wait: Wait = 0.0


class AfterQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    after: Annotated[str, Meta(max_length=100, description="Id of the last event that was read.")] = ""


async def list_tasks(call: ApiCall, query: TaskListQuery) -> TaskList:
    """List tasks: first running ones, then waiting, delayed and paused ones, then ended ones, the latest first."""
    page = await found_tasks(call.access, query, query.limit, query.cursor, newest_first=query.newest_first)
    listed = [task_documents.listed(task) for task in page.tasks]
    return {"tasks": listed, "unreadable": list(page.unreadable), "searched": page.searched, "cursor": page.cursor}


async def get_task(call: ApiCall, task_id: str, query: WaitQuery) -> WholeTask:
    """Show one task in full, with its result; with `wait` once it has ended or asks for input."""
    if query.wait:
        async with held(call.request) as wait:
            with suppress(TimeoutError):
                await wait(call.manager.wait(task_id, query.wait))
    return task_documents.whole(await call.manager.get_task(task_id))


async def task_events(call: ApiCall, task_id: str, query: AfterQuery) -> Response:
    """Follow a task to its end, as server-sent events: `change`, `part` and `end`.

    A change has its state and the new steps of its history, a part is one of its answer. A connection that broke goes
    on behind the header Last-Event-ID, or `after`.
    """
    return await task_stream(call.request, task_id)


async def why_task(call: ApiCall, task_id: str) -> WhyDocument:
    """Show the history of a task, how long it waited and ran, its present state, what comes next, what you can do."""
    return await call.manager.why(task_id, settings=call.access.settings)


TASKS = (
    ApiOperation("GET", "/tasks", list_tasks),
    ApiOperation("GET", "/tasks/{task_id}", get_task),
    route("DELETE", "/tasks/{task_id}", REMOVE_TASK),
    ApiOperation("GET", "/tasks/{task_id}/events", task_events),
    ApiOperation("GET", "/tasks/{task_id}/why", why_task),
    route("POST", "/tasks/{task_id}/cancel", CANCEL_TASK),
    route("POST", "/tasks/{task_id}/pause", PAUSE_TASK),
    route(
        "POST",
        "/tasks/{task_id}/resume",
        RESUME_TASK,
        examples={"plain": {}, "with a message": {"text": "on Friday", "reason": "asked by phone"}},
    ),
    route("POST", "/tasks/{task_id}/messages", SEND_MESSAGE, examples={"answer": {"text": "yes"}}),
    route("POST", "/tasks/{task_id}/retry", RETRY_TASK),
)
