"""I6 for messages: every message a task has seen is past, current, pending or set aside."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from typing import Any

from tests.lua.view import View

KEPT = 1000  # entries the store keeps of what was set aside: a full list may have forgotten some
_FITTING = re.compile(r"[A-Za-z0-9._@-]{1,64}")


def _sha1(text: str) -> str:
    return hashlib.sha1(text.encode(errors="surrogateescape"), usedforsecurity=False).hexdigest()


def message_of(operation: str) -> str:
    """The message id that the store gives to this run operation."""
    try:
        envelope: dict[str, Any] = json.loads(operation)
    except (ValueError, RecursionError):
        return _sha1(operation)
    message: Any = envelope.get("params", envelope).get("message") or {}
    given: Any = message.get("message_id")
    if not isinstance(given, str) or not given:
        return _sha1(operation)
    return given if _FITTING.fullmatch(given) else _sha1(given)


def messages_breaches(view: View) -> Iterator[str]:
    aside = "\n".join(view.items("unreadable"))
    complete = len(view.items("unreadable")) < KEPT
    for task_id, seen in view.named("messages:").items():
        task = view.tasks.get(task_id, {})
        history = view.items(f"history:{task_id}")[::2]
        places = {message_of(operation) for operation in history}
        waiting = [*view.items(f"pending:{task_id}"), *view.items(f"left:{task_id}")]
        places |= {item.split("|", 1)[0] for item in waiting}
        places.add(task.get("message", ""))
        for message in seen.keys() - places:
            if complete and message not in aside:
                yield f"I6 message {message} of {task_id} ({task.get('state')}) is nowhere"
    for task_id, task in view.tasks.items():
        operation = view.rest.get(f"op:{task_id}")
        if operation is None:
            yield f"I6 {task_id} ({task['state']}) has lost its operation"


def joins_breaches(view: View) -> Iterator[str]:
    """A message that joined a turn shares the outcome of the last one; one that is to be joined is suspended."""
    for task_id, task in view.tasks.items():
        for turn, result in enumerate(view.items(f"history:{task_id}")[1::2], 1):
            if not result and view.rest.get(f"result:{task_id}:{turn}"):
                yield f"{task_id}: message {turn} has joined a later one and has an outcome of its own"
        if task.get("joining") == "1" and task["state"] == "suspended" and task_id not in view.items("joining"):
            yield f"{task_id} is to go on when its messages have joined, and nobody knows"


def outcomes_breaches(view: View) -> Iterator[str]:
    """Where a handler's outcome is the message that it ran: that of a turn is of that turn's message."""
    for task_id, task in view.tasks.items():
        operations = [*view.items(f"history:{task_id}")[::2], view.rest[f"op:{task_id}"]]
        for turn in range(1, int(task["turn"]) + 1):
            outcome = view.rest.get(f"result:{task_id}:{turn}")
            if outcome and outcome != message_of(operations[turn - 1]):
                yield f"{task_id}: the outcome of turn {turn} is one of {outcome}"
