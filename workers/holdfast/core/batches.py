"""Batches: tasks that one producer submits under one id, and perhaps a callback, which runs when all have ended."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from holdfast.core.task_states import State

BATCH_ID_RULE = "1 to 100 letters, digits and . _ @ -"
MOST_TASKS = 1_000_000  # of a batch

BATCH_ID = re.compile(r"[A-Za-z0-9._@-]{1,100}")


def is_batch_id(text: str) -> bool:
    return BATCH_ID.fullmatch(text) is not None


class BatchState(StrEnum):
    OPEN = "open"  # not all its tasks have been submitted
    SEALED = "sealed"  # it takes no more tasks, and some have not ended
    ENDED = "ended"  # all its tasks have ended, and its callback was made due
    CANCELED = "canceled"  # an operator canceled it, with its callback


class TaskEnd(StrEnum):
    """The ways in which a task of a batch can end, in the order in which the store keeps their counts."""

    OPEN = "open"  # it has not ended
    COMPLETED = "completed"
    FAILED = "failed"
    REJECTED = "rejected"
    CANCELED = "canceled"
    RETRIED = "retried"  # it had ended, and a retry stands in its place
    GONE = "gone"  # its record was deleted before its end was counted


ENDS = tuple(TaskEnd)  # the store counts each end under its index here, its band


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """How many tasks of a batch have ended in each way. `total`: submitted tasks. `gone`: tasks whose records were
    deleted before their ends were counted. `retried`: tasks that were retried; `total` counts such a task and its retry
    as one."""

    total: int = 0
    open: int = 0
    completed: int = 0
    failed: int = 0
    rejected: int = 0
    canceled: int = 0
    gone: int = 0
    retried: int = 0

    @property
    def ended(self) -> int:
        return self.total - self.open


def batch_counts(counts: Sequence[int]) -> BatchCounts:
    """The counts of a batch. `counts`: the number of tasks for each end, in the order of ENDS."""
    by_end = {str(end): count for end, count in zip(ENDS, counts, strict=True)}
    return BatchCounts(total=sum(counts) - by_end[TaskEnd.RETRIED], **by_end)


@dataclass(frozen=True, slots=True)
class DeliveredBatch:
    """The batch of a task that was handed to a worker. `place`: the task's place, from 1; 0 for the callback. `counts`:
    for the callback, the counts of its batch at this moment; for other tasks all are 0. A task in no batch has the
    batch NO_BATCH, which is false."""

    id: str
    place: int
    counts: BatchCounts = BatchCounts()

    def __bool__(self) -> bool:
        return self.id != ""

    @property
    def is_callback(self) -> bool:
        return self.id != "" and self.place == 0


NO_BATCH = DeliveredBatch("", 0)


@dataclass(frozen=True, slots=True)
class BatchRecord:
    """A batch as the store has it. `expected`: the number of tasks that its producer has announced; `then`: the id of
    its callback, empty if it has none. `sealed_by`: producer, operator or cancel. Times are Unix milliseconds."""

    batch_id: str
    counts: BatchCounts
    expected: int
    created_ms: int
    sealed_ms: int | None
    ended_ms: int | None
    canceled_ms: int | None
    sealed_by: str = ""
    then: str = ""
    now_ms: int = 0

    @property
    def state(self) -> BatchState:
        if self.canceled_ms is not None:
            return BatchState.CANCELED
        if self.ended_ms is not None:
            return BatchState.ENDED
        return BatchState.OPEN if self.sealed_ms is None else BatchState.SEALED


@dataclass(frozen=True, slots=True)
class BatchPage:
    """A page of batches, the latest first; the cursor is empty at the end of the list. `unreadable`: ids of batches
    whose keys somebody has damaged."""

    batches: tuple[BatchRecord, ...]
    cursor: str
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class BatchTask:
    """A task of a batch: its place, from 1, and how it has ended. A retry has the place of the task that it retries."""

    place: int
    task_id: str
    end: TaskEnd

    @property
    def state(self) -> State | None:
        """The end of the task as a state; None if the task is open, was retried, or is gone."""
        return State(self.end) if self.end in _STATES else None


_STATES = frozenset({TaskEnd.COMPLETED, TaskEnd.FAILED, TaskEnd.REJECTED, TaskEnd.CANCELED})


class Sealed(StrEnum):
    """The store's answer to sealing a batch."""

    SEALED = "sealed"
    AGAIN = "again"  # it was sealed before
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Canceled:
    """The answer to one step of canceling a batch. `word`: canceled, ended or unknown; `left`: open tasks, for the next
    steps."""

    word: str
    tasks: int
    left: int
