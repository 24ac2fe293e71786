"""Operations on tasks."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta
from starlette.responses import Response

from holdfast.client.arguments import WantedTasks
from holdfast.client.queue_control import checked
from holdfast.core.task_states import State
from holdfast.errors import InvalidTaskError
from holdfast.why.document import WhyDocument
from holdfastd.documents import task_documents
from holdfastd.documents.task_documents import ListedTask, WholeTask
from holdfastd.operations.act import Reason
from holdfastd.operations.bulk import TaskQuery, wanted_of
from holdfastd.operations.dead import RemovedTask
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.api.types import Cursor, Limit, Reasoned
from holdfastd.web.live.event_streams import task_stream
from holdfastd.web.live.stream_response import held
from holdfastd.web.queue.task_filter import gathered

LONGEST_WAIT = 60.0  # seconds

Wait = Annotated[
    float,
    Meta(
        ge=0,
        le=LONGEST_WAIT,
        description="Answer once the task has ended or asks for input, or after so many seconds as it is then.",
    ),
]
MessageId = Annotated[str, Meta(min_length=1, max_length=1000)]


class TaskListQuery(TaskQuery, forbid_unknown_fields=True, frozen=True):
    """A page of the tasks that a filter finds."""

    newest_first: Annotated[bool, Meta(description="Within each state the last tasks first.")] = False
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


class TaskMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A message for a task. A new `message_id` sends the same content again."""

    text: str | None = None
    data: Any = None
    message_id: MessageId | None = None


class Resume(TaskMessage, forbid_unknown_fields=True, frozen=True):
    """An optional message, and a reason."""

    reason: Reason = ""


class TaskState(TypedDict):
    """The state of a task afterwards."""

    task_id: str
    state: State


class RetriedTask(TypedDict):
    """`answer`: new, again (it was retried before) or due (it waited for its time); `runs_as`: the task that runs."""

    task_id: str
    answer: str
    runs_as: str


async def list_tasks(call: ApiCall, query: TaskListQuery) -> TaskList:
    """List tasks: first running ones, then waiting, delayed and paused ones, then ended ones, the latest first."""
    wanted: WantedTasks = {**wanted_of(query), "newest_first": query.newest_first}
    page = await gathered(
        partial(call.access.reader_of_tasks(query.text), *query.state, **wanted), query.limit, query.cursor
    )
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


async def cancel_task(call: ApiCall, task_id: str, body: Reasoned) -> TaskState:
    """Cancel a task that has not ended. A running handler is interrupted."""
    state = await call.manager.cancel_task(task_id, call.reason("canceled", body.reason))
    return {"task_id": task_id, "state": state}


async def pause_task(call: ApiCall, task_id: str, body: Reasoned) -> TaskState:
    """Pause a task that has not ended: a waiting task at once, a running one when its handler has stopped."""
    state = await call.manager.pause_task(task_id, call.reason("paused", body.reason))
    return {"task_id": task_id, "state": state}


async def resume_task(call: ApiCall, task_id: str, body: Resume) -> TaskState:
    """Continue a task that is paused or waits for input, optionally with a message."""
    reason = call.reason("resumed", body.reason)
    state = await call.manager.resume_task(
        task_id, body.text, data=body.data, message_id=body.message_id, reason=reason
    )
    return {"task_id": task_id, "state": state}


async def send_message(call: ApiCall, task_id: str, body: TaskMessage) -> TaskState:
    """Send a task one more message: an answer to its question, or further input."""
    if body.text is None and body.data is None:
        raise InvalidTaskError("text: there is no message; give text or data")
    state = await call.manager.resume_task(task_id, body.text, data=body.data, message_id=body.message_id)
    return {"task_id": task_id, "state": state}


async def retry_task(call: ApiCall, task_id: str, body: Reasoned) -> RetriedTask:
    """Run a failed, rejected or canceled task again, as a new task; one that waits for a retry runs now."""
    answer = checked(await call.manager.ask_retry(task_id, call.reason("retried", body.reason)))
    return {"task_id": task_id, "answer": answer.word, "runs_as": answer.task_id}


async def remove_task(call: ApiCall, task_id: str) -> RemovedTask:
    """Delete a task that has ended, with all its data. Cancel a task first if it has not ended."""
    await call.manager.remove_task(task_id)
    return {"task_id": task_id, "removed": True}


TASKS = (
    ApiOperation("GET", "/tasks", list_tasks),
    ApiOperation("GET", "/tasks/{task_id}", get_task),
    ApiOperation("DELETE", "/tasks/{task_id}", remove_task, "tasks/remove"),
    ApiOperation("GET", "/tasks/{task_id}/events", task_events),
    ApiOperation("GET", "/tasks/{task_id}/why", why_task),
    ApiOperation("POST", "/tasks/{task_id}/cancel", cancel_task, "tasks/cancel"),
    ApiOperation("POST", "/tasks/{task_id}/pause", pause_task, "tasks/pause"),
    ApiOperation(
        "POST",
        "/tasks/{task_id}/resume",
        resume_task,
        "tasks/resume",
        examples={"plain": {}, "with a message": {"text": "on Friday", "reason": "asked by phone"}},
    ),
    ApiOperation(
        "POST", "/tasks/{task_id}/messages", send_message, "tasks/message", examples={"answer": {"text": "yes"}}
    ),
    ApiOperation("POST", "/tasks/{task_id}/retry", retry_task, "tasks/retry"),
)
