"""Notices for webhooks: a notice tells a URL that a task has ended or asks for input. Clients of the agent also get
notices while a task works."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from holdfast.core.cadence.moments import local
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord

_URL = re.compile(r"(?P<scheme>[A-Za-z]+)://(?P<authority>[^/?#]+)")
_ERROR = ("type", "message")  # of an error: its traceback names paths of the server, and the URL may be a stranger's


@dataclass(frozen=True, slots=True)
class Notice:
    """A notice for a webhook. `name` identifies it, however often it is posted. `tries` includes the try under way.
    `why`: the reason why the last try failed, empty if none has failed. `receiver` and `is_prompt` are set when a
    steward takes the notice from the store to post it: the host and port in the URL, and whether this receiver usually
    answers promptly."""

    name: str
    task_id: str
    turn: int
    state: str
    url: str
    at_ms: int
    tries: int
    why: str = ""
    receiver: str = ""
    is_prompt: bool = False

    @property
    def public_id(self) -> str:
        """The id by which a receiver recognises a repeated notice. Every `working` notice of a task has an id of its
        own, because it tells of new progress."""
        name = self.name.replace("|", ".")
        return f"{name}.{self.at_ms}" if self.state == State.WORKING else name


@dataclass(frozen=True, slots=True)
class SpoiltNotice:
    """A notice whose record cannot be read, and the reason."""

    name: str
    why: str
    receiver: str = ""
    is_prompt: bool = False


class Answered(StrEnum):
    """How fast a receiver has answered a notice."""

    PROMPT = "prompt"
    SLOW = "slow"
    MISSED = "missed"


class WebhookChange(StrEnum):
    """The store's answer to setting the webhook of one task."""

    SET = "set"
    OTHER = "other"  # the task has another webhook than the caller expected; nothing changed
    UNKNOWN = "unknown"  # there is no such task


@dataclass(frozen=True, slots=True)
class Room:
    """How many webhook notices may be posted at the same time. A receiver is prompt if it is known to answer promptly,
    else unproven. `unproven`: limit for all unproven receivers together. `share`: limit for one prompt receiver.
    `unproven_share`: limit for one unproven receiver. `busy`: how many are posted now, by receiver."""

    unproven: int = 1000
    share: int = 1000
    unproven_share: int = 1000
    busy: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class WaitingNotice:
    """A notice that is not delivered yet, and the moment of its next try (ms)."""

    notice: Notice | SpoiltNotice
    due_ms: int


@dataclass(frozen=True, slots=True)
class GivenUpNotice:
    """A notice that no steward posts any more, the moment (ms) at which it was given up, and the reason. An operator
    can have it tried again."""

    notice: Notice
    given_up_ms: int
    why: str


@dataclass(frozen=True, slots=True)
class Outbox:
    """A page of waiting notices; `total` is their number. `url`: the queue's webhook, for tasks without their own."""

    url: str
    total: int
    waiting: tuple[WaitingNotice, ...]


def notice_name(task_id: str, turn: int, state: str) -> str:
    """The name of the notice of a task that came to a state, spelled like the store's scripts spell it."""
    return f"{task_id}|{turn}|{state}"


def receiver_of(url: str) -> str:
    """The host and port in a URL, spelled like the store's scripts spell them; empty if the URL has none."""
    match = _URL.match(url)
    if match is None:
        return ""
    host = match["authority"].rpartition("@")[2].lower()
    if re.search(r":[0-9]+$", host):
        return host
    return f"{host}:{80 if match['scheme'].lower() == 'http' else 443}"


def body(notice: Notice, task: TaskRecord | None) -> bytes:
    """The JSON that is sent. If the task was deleted in the meantime, the JSON has only the notice's own values."""
    told: dict[str, Any] = {
        "type": f"task.{notice.state}",
        "id": notice.public_id,
        "task_id": notice.task_id,
        "turn": notice.turn,
        "state": notice.state,
        "timestamp": f"{local(notice.at_ms, 'UTC'):%Y-%m-%dT%H:%M:%S}.{notice.at_ms % 1000:03}Z",
    }
    if task is not None and task.turn == notice.turn:
        told |= {"lane": task.lane, "name": task.name or None, "reason": task.reason or None}
        told["result"] = _result(task.result)
    return json.dumps(told, separators=(",", ":")).encode()


def _result(content: bytes | None) -> dict[str, Any] | None:
    """The result of a turn. Raises ValueError if it cannot be read."""
    if not content:
        return None
    result: dict[str, Any] = json.loads(content)
    error: dict[str, Any] | None = result.get("error")
    return result if not error else {**result, "error": {name: error.get(name) for name in _ERROR}}
