"""Tasks as documents: one of a list, one with its payloads, its result."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.core.result_document import read_result
from holdfast.core.tasks import TaskRecord
from holdfast.core.trail import is_asleep, read_trail
from holdfastd.documents.times import moment


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


def decoded(payload: bytes | None) -> Any:
    """The JSON value of a payload, or its text if it is not JSON; None for none."""
    if payload is None:
        return None
    try:
        return msgspec.json.decode(payload)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return payload.decode("utf-8", "backslashreplace")
