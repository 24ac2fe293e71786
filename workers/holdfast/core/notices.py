"""What is to be told to a webhook: that a task has ended, or that it asks for something."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from holdfast.core.records import TaskRecord

VERSION = "v1"


@dataclass(frozen=True, slots=True)
class Notice:
    """`name` identifies it, however often it is told; `tries` counts the one that is under way."""

    name: str
    task_id: str
    turn: int
    state: str
    url: str
    at_ms: int
    tries: int

    @property
    def public_id(self) -> str:
        """By it a receiver knows a notice that comes again."""
        return self.name.replace("|", ".")


def body(notice: Notice, task: TaskRecord | None) -> bytes:
    """The JSON that is sent. Of a task that was forgotten meanwhile only what the notice says."""
    told: dict[str, Any] = {
        "type": f"task.{notice.state}",
        "id": notice.public_id,
        "task_id": notice.task_id,
        "turn": notice.turn,
        "state": notice.state,
        "timestamp": notice.at_ms / 1000,
    }
    if task is not None and task.turn == notice.turn:
        told |= {"lane": task.lane, "name": task.name or None, "reason": task.reason or None}
        told["result"] = json.loads(task.result) if task.result else None
    return json.dumps(told, separators=(",", ":")).encode()


def signed(public_id: str, timestamp: int, content: bytes) -> bytes:
    """What the signature is made of, as standardwebhooks.com has it."""
    return f"{public_id}.{timestamp}.".encode() + content
