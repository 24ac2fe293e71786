"""Tasks as the command line shows them: documents for JSON, cells for tables, results as text."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.core.duration_words import duration
from holdfast.core.result_document import read_result
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import is_asleep, read_trail
from holdfastd.cli.common.output import readable
from holdfastd.cli.common.table_fit import TableFit
from holdfastd.cli.views.times import moment

FIT = TableFit(
    ids=("task",),
    texts=("reason", "name"),
    drop=("turn", "deliveries", "crashes", "attempts", "lane", "reason", "name", "age"),
)
COLUMNS = ("task", "state", "lane", "age", "turn", "attempts", "deliveries", "crashes", "name", "reason")


def summary(task: TaskRecord, now_ms: int) -> tuple[object, ...]:
    """The cells under COLUMNS."""
    age = duration((now_ms - task.created_ms) / 1000)
    state = f"{task.state} (dead letter)" if task.dead else str(task.state)
    counts = (task.turn, task.attempts, task.deliveries, task.crashes)
    return (task.task_id, state, task.lane, age, *counts, task.name, task.reason)


def listed(task: TaskRecord) -> dict[str, Any]:
    """A task without payloads."""
    document = {field: getattr(task, field) for field in TaskRecord.__dataclass_fields__}
    for payload in ("operation", "result", "checkpoint", "trail"):
        del document[payload]
    for field in ("created_ms", "due_ms", "finished_ms", "expires_ms"):
        document[field.removesuffix("_ms")] = moment(document.pop(field))
    return document | {"state": str(task.state), "waits_for": list(task.waits_for)}


def whole(task: TaskRecord) -> dict[str, Any]:
    """A task with its payloads and its trail."""
    result = read_result(task.result)
    payloads = {"result": result.value, "error": result.error}
    sleeps = is_asleep(task.state, read_trail(task.trail))
    payloads |= {"sleeps_until": moment(task.due_ms) if sleeps else None}
    payloads |= {"operation": decoded(task.operation), "checkpoint": decoded(task.checkpoint)}
    return listed(task) | payloads | {"trail": list(task.trail)}


def failure(task: TaskRecord) -> list[str]:
    """The last error as lines: its traceback if there is one."""
    error = read_result(task.result).error
    match error:
        case None:
            return []
        case {"traceback": str(traceback)} if traceback:
            return ["error", *(f"  {line}" for line in traceback.splitlines())]
        case _:
            return [f"error        {readable(error)}"]


def outcome(task: TaskRecord) -> dict[str, Any]:
    """The result of a task as a document."""
    result = read_result(task.result)
    return {
        "task_id": task.task_id,
        "state": str(task.state),
        "result": result.value,
        "error": result.error,
        "reason": task.reason,
        "attempts": task.attempts,
    }


def outcome_line(task: TaskRecord) -> str:
    """The result of a task on one line."""
    return f"{task.task_id} {task.state}: {task.reason or readable(read_result(task.result).value)}"


def decoded(payload: bytes | None) -> Any:
    """The JSON value of a payload, or its text if it is not JSON; None for none."""
    if payload is None:
        return None
    try:
        return msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return payload.decode("utf-8", "backslashreplace")
