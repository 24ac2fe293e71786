"""Conversations of tasks, and data kept beside a task, for applications that keep both in one place."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class KeptNote(StrEnum):
    """The answer to noting a task. Any other word is the state in which the task has ended."""

    NOTED = "noted"
    FOREIGN = "foreign"  # the conversation, or the task, is somebody else's


class NotedWrite(StrEnum):
    """The answer to a state that is written to a task which is noted and not submitted."""

    WRITTEN = "written"
    KEPT = "kept"  # it is in another state than was asked for, or has ended
    UNNOTED = "unnoted"  # nobody noted it, or it was submitted


@dataclass(frozen=True, slots=True)
class About:
    """The data kept beside a task: its conversation and its owner (empty: none), when it was noted; until it is
    submitted its first message, the state that its application wrote and when; its metadata as JSON by name, data added
    to it, and operations and results of its earlier turns."""

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
