"""A command gets its task as a JSON document on standard input, and as variables of its environment."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from holdfast.core.messages import Message
from holdfast.handler.task import Task
from holdfast.handler.to_json import to_json
from holdfast_config import names


def document(task: Task, messages: list[Message]) -> bytes:
    """One JSON object; `attempt` counts from 1, `deadline` is in Unix time."""
    fields: dict[str, Any] = {
        "task_id": task.id,
        "context_id": task.context_id,
        "attempt": task.attempts + 1,
        "delivery": task.delivery,
        "idempotency_key": task.idempotency_key,
        "deadline": None if task.deadline is None else time.time() + task.deadline - time.monotonic(),
        "messages": messages,
        "checkpoint": task.last_checkpoint,
    }
    return to_json(fields)


def environment(task: Task, inherited: Mapping[str, str]) -> dict[str, str]:
    """The inherited variables and those that describe the task."""
    own = {
        names.TASK_ID: task.id,
        names.ATTEMPT: str(task.attempts + 1),
        names.IDEMPOTENCY_KEY: task.idempotency_key,
    }
    trace = {"TRACEPARENT": task.traceparent} if task.traceparent else {}
    return {**inherited, **own, **trace}
