"""Conversations of tasks, and data kept beside a task, for applications that keep both in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class KeptNote(StrEnum):
    """The store's answer to noting a task. Any other word is the state of a task that has ended."""

    NOTED = "noted"
    FOREIGN = "foreign"  # the conversation, or the task, is somebody else's


class NotedWrite(StrEnum):
    """The store's answer to writing the state of a task that is noted and not submitted."""

    WRITTEN = "written"
    KEPT = "kept"  # it is in another state than was asked for, or has ended
    UNNOTED = "unnoted"  # nobody noted it, or it was submitted


@dataclass(frozen=True, slots=True)
class About:
    """The data kept beside a task: its conversation, its owner (empty: none), and the moment at which it was noted.
    Until the task is submitted: its first message, and the state that its application wrote, with the moment. Also its
    metadata as JSON by name, added data, and operations and results of earlier turns."""

    context_id: str = ""
    owner: str = ""
    at_ms: int = 0
    message: bytes | None = None
    state: str = ""
    changed_ms: int = 0
    metadata: dict[str, bytes] = field(default_factory=dict[str, bytes])
    added: tuple[bytes, ...] = ()
    earlier: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class Conversation:
    """`data` is the application's own, as JSON; `task_ids` oldest first."""

    context_id: str
    owner: str
    data: bytes | None
    task_ids: tuple[str, ...]
