"""Calls of a test to a storage and a scheduler, and waits for their answers."""

from __future__ import annotations

import time
from typing import Any
from uuid import UUID, uuid4

import anyio

PATIENCE = 30.0


def message(text: str, task_id: UUID | None = None) -> dict[str, Any]:
    """As the framework's own endpoint has read it."""
    return {
        "message_id": uuid4(),
        "task_id": task_id or uuid4(),
        "kind": "message",
        "role": "user",
        "parts": [{"kind": "text", "text": text}],
    }


async def submit(pair: Any, text: str, *, task_id: UUID | None = None, context_id: UUID | None = None) -> UUID:
    """A task as the framework's message handler submits one; its id."""
    said, context = message(text, task_id), context_id or uuid4()
    task = await pair.storage.submit_task(context, said)
    await pair.scheduler.run_task({"task_id": task["id"], "context_id": context, "message": said})
    identity: UUID = task["id"]
    return identity


async def shown(storage: Any, task_id: UUID, state: str) -> dict[str, Any]:
    """The task once the storage shows it in this state. It is asked again and again, as clients do. What was pushed by
    strangers is not known before it is taken."""
    deadline = time.monotonic() + PATIENCE
    while True:
        task: dict[str, Any] | None = await storage.load_task(task_id)
        if task is not None and task["status"]["state"] == state:
            return task
        assert time.monotonic() < deadline, f"never {state}: {task}"
        await anyio.sleep(0.01)


def texts(messages: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """Role and text of each message."""
    return [(each["role"], part["text"]) for each in messages for part in each["parts"]]
