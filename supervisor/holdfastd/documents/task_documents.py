"""Documents of tasks (in a list, with payloads, or only the result), of batches, and of changes of many tasks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypedDict, cast

import msgspec

from holdfast.core.batches import BatchRecord, BatchState
from holdfast.core.bulk_changes import BulkChange, BulkState, BulkVerb
from holdfast.core.counts import Counts
from holdfast.core.outcomes import read_result
from holdfast.core.progress import Progress
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import is_asleep, read_trail
from holdfastd.documents.printed_times import Moment, document_of, moment


class BarDocument(TypedDict):
    """The progress that a handler has shown: `done` of `total` (null: not given), and a text."""

    done: float | None
    total: float | None
    text: str


class ListedTask(TypedDict):
    """A task without payloads. `progress`: the last progress in one line; `bar`: the same as numbers and a text.
    `error_kind`: the id of the kind of error of its last failed run. `created`, `due`, `finished`, `expires`: ISO 8601,
    in UTC."""

    task_id: str
    state: State
    lane: str
    turn: int
    message_id: str
    name: str
    origin: str
    deliveries: int
    attempts: int
    crashes: int
    releases: int
    owner: str
    claim: str
    solo: bool
    progress: str
    bar: BarDocument | None
    reason: str
    dead: bool
    pending: int
    max_attempts: int | None
    retry_of: str
    retried_as: str
    refused: str
    duplicate_of: str
    waits_for: list[str]
    if_parent_fails: str
    runs: int
    batch: str
    is_callback: bool
    error_kind: str
    created: Moment | None
    due: Moment | None
    finished: Moment | None
    expires: Moment | None


class ErrorDocument(TypedDict, total=False):
    """The error of a turn that failed: the name of its class, its text, and where it was raised."""

    type: str
    message: str
    traceback: str


class WholeTask(ListedTask):
    """A task with its payloads and its trail, lines of `<Unix ms> <event> <detail>`. `operation`: the message as it was
    pushed; `result`: the value that the handler returned; `checkpoint`: the value that it kept."""

    result: Any
    error: ErrorDocument | None
    sleeps_until: Moment | None
    operation: Any
    checkpoint: Any
    trail: list[str]


class TaskOutcome(TypedDict):
    """The result of a task."""

    task_id: str
    state: State
    result: Any
    error: ErrorDocument | None
    reason: str
    attempts: int


TaskCounts = TypedDict(
    "TaskCounts",
    {
        "submitted": int,
        "delayed": int,
        "waiting": int,
        "working": int,
        "input-required": int,
        "auth-required": int,
        "suspended": int,
        "completed": int,
        "failed": int,
        "rejected": int,
        "canceled": int,
        "dead letters": int,
    },
)
TaskCounts.__doc__ = "The number of tasks in each state; of those that failed, `dead letters` were not retried."


def task_counts(counts: Counts) -> TaskCounts:
    found = {str(state): number for state, number in counts.states.items()}
    return cast("TaskCounts", found | {"dead letters": counts.dead})


def bar_of(progress: Progress | None) -> BarDocument | None:
    return None if progress is None else {"done": progress.done, "total": progress.total, "text": progress.text}


def listed(task: TaskRecord) -> ListedTask:
    """A task without payloads."""
    return document_of(
        ListedTask,
        task,
        bar=bar_of(task.bar),
        waits_for=list(task.waits_for),
        created=moment(task.created_ms),
        due=moment(task.due_ms),
        finished=moment(task.finished_ms),
        expires=moment(task.expires_ms),
    )


def whole(task: TaskRecord) -> WholeTask:
    """A task with its payloads and its trail."""
    result = read_result(task.result)
    return {
        **listed(task),
        "result": result.value,
        "error": cast("ErrorDocument | None", result.error),
        "sleeps_until": moment(task.due_ms) if is_asleep(task.state, read_trail(task.trail)) else None,
        "operation": decoded(task.operation),
        "checkpoint": decoded(task.checkpoint),
        "trail": list(task.trail),
    }


def outcome(task: TaskRecord) -> TaskOutcome:
    """The result of a task as a document."""
    result = read_result(task.result)
    return document_of(TaskOutcome, task, result=result.value, error=result.error)


def decoded(payload: bytes | None) -> Any:
    """The JSON value of a payload. If the payload is no JSON, its text; None if there is no payload."""
    if payload is None:
        return None
    try:
        return msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return payload.decode("utf-8", "backslashreplace")


# Batches as documents.


class BatchCountsDocument(TypedDict):
    """The numbers of a batch's tasks, by the way in which they have ended."""

    total: int
    open: int
    completed: int
    failed: int
    rejected: int
    canceled: int
    gone: int
    retried: int
    ended: int


class BatchDocument(TypedDict):
    """A batch. `expected`: the tasks that its producer has announced; `callback`: the id of the task that runs at its
    end."""

    batch: str
    state: BatchState
    expected: int
    counts: BatchCountsDocument
    callback: str | None
    created: Moment | None
    sealed: Moment | None
    sealed_by: str | None
    ended: Moment | None
    canceled: Moment | None


def batch_document(record: BatchRecord) -> BatchDocument:
    return document_of(
        BatchDocument,
        record,
        batch=record.batch_id,
        counts=document_of(BatchCountsDocument, record.counts),
        callback=record.then or None,
        created=moment(record.created_ms),
        sealed=moment(record.sealed_ms),
        sealed_by=record.sealed_by or None,
        ended=moment(record.ended_ms),
        canceled=moment(record.canceled_ms),
    )


# Changes of many tasks as documents.


class BulkDocument(TypedDict):
    """A change of many tasks. `filter`: in the form of the address of the page of tasks, empty for all tasks.
    `searched`, `changed`: numbers of tasks so far. `refused`: tasks that it could not change. `moved`: tasks that were
    found, but no longer fitted the filter at their turn. `pass_number`: the change makes passes over the tasks until a
    pass changes nothing. `told`: the time of its last report."""

    change_id: str
    verb: BulkVerb
    filter: str
    state: BulkState
    changed: int
    refused: int
    moved: int
    searched: int
    pass_number: int
    reason: str | None
    who: str
    origin: str
    begun: Moment | None
    told: Moment | None


def bulk_document(change: BulkChange, now_ms: int, shown: Callable[[str], str] = str) -> BulkDocument:
    """The document of a change. `now_ms`: the store's time; by it a change that has not reported for some seconds
    counts as interrupted. `shown` removes from a filter the parts that the reader may not see."""
    return document_of(
        BulkDocument,
        change,
        filter=shown(change.query),
        state=change.state_at(now_ms),
        reason=change.reason or None,
        begun=moment(change.begun_ms),
        told=moment(change.told_ms),
    )
