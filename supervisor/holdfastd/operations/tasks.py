"""Acts on tasks. RETRY_TASK also retries a dead letter, which is a task as well."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.arguments import LONGEST_ID
from holdfast.client.queue_control import checked
from holdfast.client.task_filter import Age, OfHandler, OfLane, age_ms
from holdfast.core.identity import TASK_ID
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Retried
from holdfast.errors import InvalidTaskError, TaskEndedError
from holdfastd.operations.act import Act, Doing, Reason

OPEN = frozenset(State) - TERMINAL

TaskId = Annotated[str, Meta(description="Id of the task.", extra_json_schema={"pattern": f"^{TASK_ID.pattern}$"})]
# None stands inside Annotated, so a message may have the text `none`.
Text = Annotated[str | None, Meta(description="Message for the task: an answer or further input.")]
Data = Annotated[Any, Meta(description="JSON value, as the message or a part of it.")]
MessageId = Annotated[
    str | None,
    Meta(
        description="Id of the message. A new id sends the same content to a task again.",
        extra_json_schema={"minLength": 1, "maxLength": LONGEST_ID},
    ),
]


class ChosenTask(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The task to which the act applies."""

    task_id: TaskId


class ReasonedTask(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The task to which the act applies, and the reason."""

    task_id: TaskId
    reason: Reason = ""


class SendMessage(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A message for a task. A new `message_id` sends the same content again."""

    task_id: TaskId
    text: Text = None
    data: Data = None
    message_id: MessageId = None


class ResumeTask(SendMessage, forbid_unknown_fields=True, frozen=True):
    """The task, an optional message for it, and a reason."""

    reason: Reason = ""


class CleanTasks(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The filter of the ended tasks to delete."""

    state: Annotated[list[State], Meta(description="Only tasks in this final state.")] = []
    older: Annotated[Age, Meta(description="Only tasks that ended at least this long ago: 90s, 5m, 7d.")] = None
    lane: OfLane = None
    name: OfHandler = None
    limit: (
        Annotated[int, Meta(ge=1, le=10_000, description="Remove at most so many tasks, those that ended last first.")]
        | None
    ) = None


class TaskState(TypedDict):
    """The state of a task after the change."""

    task_id: str
    state: State


class RetriedTask(TypedDict):
    """`answer`: new, again (the task was retried before) or due (the task was delayed, and runs now). `runs_as`: the id
    of the task that runs."""

    task_id: str
    answer: Retried
    runs_as: str


class RemovedTask(TypedDict):
    task_id: str
    removed: bool


class CleanedTasks(TypedDict):
    """The number of deleted tasks."""

    removed: int


async def cancel_task(doing: Doing, given: ReasonedTask) -> TaskState:
    """Cancel a task that has not ended. A running handler is interrupted."""
    state = await doing.manager.cancel_task(given.task_id, doing.reason("canceled", given.reason))
    return _changed(given.task_id, state, {State.CANCELED})


async def pause_task(doing: Doing, given: ReasonedTask) -> TaskState:
    """Pause a task that has not ended: a waiting task at once, a running one when its handler has stopped."""
    state = await doing.manager.pause_task(given.task_id, doing.reason("paused", given.reason))
    return _changed(given.task_id, state)


async def resume_task(doing: Doing, given: ResumeTask) -> TaskState:
    """Continue a task that is paused or waits for input, optionally with a message."""
    if _has_message(given):
        return await _send(doing, given)
    reason = doing.reason("resumed", given.reason)
    state = await doing.manager.resume_task(given.task_id, message_id=given.message_id, reason=reason)
    return _changed(given.task_id, state)


async def send_message(doing: Doing, given: SendMessage) -> TaskState:
    """Send a task one more message: an answer to its question, or further input."""
    if not _has_message(given):
        raise InvalidTaskError("text: there is no message, or it is null; give text or data")
    return await _send(doing, given)


async def retry_task(doing: Doing, given: ReasonedTask) -> RetriedTask:
    """Run a failed, rejected or canceled task again, as a new task. A task that waits for its retry runs now."""
    answer = checked(await doing.manager.ask_retry(given.task_id, doing.reason("retried", given.reason)))
    return {"task_id": given.task_id, "answer": Retried(answer.word), "runs_as": answer.task_id}


async def remove_task(doing: Doing, given: ChosenTask) -> RemovedTask:
    """Delete a task that has ended, with all its data. Cancel a task first if it has not ended."""
    await doing.manager.remove_task(given.task_id)
    return {"task_id": given.task_id, "removed": True}


async def clean_tasks(doing: Doing, given: CleanTasks) -> CleanedTasks:
    """Delete tasks that have ended, with all their data. Other tasks are not touched."""
    removed = await doing.manager.clean_tasks(
        *given.state,
        older_than=(age_ms("older", given.older) or 0) / 1000,
        lane=given.lane,
        name=given.name,
        limit=given.limit,
        on_step=doing.step,
    )
    doing.asked.outcome = f"{removed} removed"
    if not removed:
        await doing.hint(given)
    return {"removed": removed}


def _has_message(given: SendMessage) -> bool:
    """True if a message is given. Raises InvalidTaskError for an empty text, as an empty field of a form sends it."""
    if given.text is not None and not given.text.strip():
        raise InvalidTaskError("text: the message is empty; write a text, or resume the task without one")
    return given.text is not None or given.data is not None


async def _send(doing: Doing, given: SendMessage) -> TaskState:
    """Send the message. The answer may be any state: a worker may have read the message and ended the task already."""
    state = await doing.manager.resume_task(given.task_id, given.text, data=given.data, message_id=given.message_id)
    return {"task_id": given.task_id, "state": state}


def _changed(task_id: str, state: State, wanted: Collection[State] = OPEN) -> TaskState:
    """The answer of an act. Raises TaskEndedError if the task ended before the act."""
    if state not in wanted:
        raise TaskEndedError(f"task {task_id} has already ended: its state is {state}")
    return {"task_id": task_id, "state": state}


CANCEL_TASK = Act("tasks/cancel", ReasonedTask, cancel_task, "task_id")
PAUSE_TASK = Act("tasks/pause", ReasonedTask, pause_task, "task_id")
RESUME_TASK = Act("tasks/resume", ResumeTask, resume_task, "task_id")
SEND_MESSAGE = Act("tasks/message", SendMessage, send_message, "task_id")
RETRY_TASK = Act("tasks/retry", ReasonedTask, retry_task, "task_id")
REMOVE_TASK = Act("tasks/remove", ChosenTask, remove_task, "task_id")
CLEAN_TASKS = Act("tasks/clean", CleanTasks, clean_tasks)
