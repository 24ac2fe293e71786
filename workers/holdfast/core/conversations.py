"""Conversations of tasks, and data kept beside a task, for applications that keep both in one place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum

from holdfast.core.task_states import PARKED, TERMINAL
from holdfast.core.tasks import TaskRecord


class KeptNote(StrEnum):
    """The store's answer to keeping a message of a task that is not submitted yet. If the task has ended, the answer is
    its state instead."""

    NOTED = "noted"
    FOREIGN = "foreign"  # the conversation, or the task, belongs to another owner


class NotedWrite(StrEnum):
    """The store's answer to writing the state of a task whose message the store keeps, but that was not submitted."""

    WRITTEN = "written"
    KEPT = "kept"  # the task has ended, or is not in the state that the caller expected: nothing was written
    UNNOTED = "unnoted"  # the store keeps no message of the task, or the task was submitted


@dataclass(frozen=True, slots=True)
class About:
    """The data kept beside a task: its conversation, its owner (empty: none), and the moment at which the store first
    kept a message of the task. Until the task is submitted: its first message, and the state that its application
    wrote, with the moment. Also its metadata as JSON by name, added data, and operations and results of earlier
    turns."""

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
    """A conversation. `data` is the application's own, as JSON; `task_ids`: its tasks, oldest first."""

    context_id: str
    owner: str
    data: bytes | None
    task_ids: tuple[str, ...]


def kept_turns(record: TaskRecord, about: About) -> Iterator[tuple[bytes | None, bytes | None]]:
    """The operation and the result of each turn. The last turn has the result None if it has not ended: the record may
    then still hold the result of the turn before."""
    operations, results = about.earlier[::2], about.earlier[1::2]
    yield from ((operation, result or None) for operation, result in zip(operations, results, strict=False))
    result = record.result if record.state in TERMINAL | PARKED else None
    is_of_before = result is not None and result == next(filter(None, reversed(results)), None)
    yield record.operation, None if is_of_before else result or None


def changed_ms(record: TaskRecord) -> int:
    """The moment (Unix milliseconds) at which the task came to its present state."""
    last = record.trail[-1].partition(" ")[0] if record.trail else ""
    return record.finished_ms or (int(last) if last.isdigit() else record.created_ms)
