"""Rules of recycling: at which task count and memory a worker is replaced, and how many tasks it takes until then.

Near its limits a worker goes on serving while its successor boots, but takes no task that would exceed the limits. It
never runs more tasks than allowed, and keeps memory free for the growth that a task usually causes. This growth is
measured: the first task of a worker runs alone, until the task has ended or has run for long enough.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from holdfast.core.pull_protocol import UNBOUNDED
from holdfast.core.words import counted

RECYCLE_AT = 0.8  # share of the memory limit at which a successor is asked for
SPREAD = 0.1  # share of the tasks by which limits differ, so that the workers of a pool are not replaced all at once


@dataclass(frozen=True, slots=True)
class RecycleLimits:
    """The limits at which a worker is replaced; None: no limit. A successor is asked for after `tasks` tasks, and the
    worker never runs more than `most_tasks`. `memory` is in bytes."""

    tasks: int | None = None
    most_tasks: int | None = None
    memory: int | None = None

    @classmethod
    def of(cls, max_tasks: int | None, max_memory: int | None, chance: float) -> RecycleLimits:
        """The limits of one worker; `chance` (0 to 1) varies them, so that workers are not replaced all at once."""
        tasks = None if max_tasks is None else max_tasks - int(max_tasks * SPREAD * chance)
        return cls(tasks, max_tasks, max_memory)


class WorkerUse(msgspec.Struct, frozen=True):
    """The use of a worker so far: tasks done, memory at its start and in the last two samples. `tried`: the first task
    has run long enough to show how much memory a task needs."""

    done: int = 0
    first: int = 0
    before: int = 0
    memory: int = 0
    tried: bool = False

    @property
    def growth(self) -> float | None:
        """Bytes of memory that a task has cost so far; None while this is unknown."""
        if not (self.done or self.tried):
            return None
        return max(0.0, (self.memory - self.first) / max(1, self.done))


def recycle_reason(limits: RecycleLimits, use: WorkerUse) -> str:
    """The reason to replace the worker, or empty. Memory counts if two samples in a row exceed the limit."""
    if limits.tasks is not None and use.done >= limits.tasks:
        return counted(use.done, "task")
    if limits.memory is None or not heavy(limits, use) or not _heavy(limits.memory, use.growth, use.before):
        return ""
    return f"memory {_size(use.memory)} of {_size(limits.memory)}"


def refusal(limits: RecycleLimits, memory: int) -> str:
    """The reason why a worker of this size, in bytes, can never run a task within its limits, or empty."""
    if limits.memory is None or not _heavy(limits.memory, None, memory):
        return ""
    return f"max_memory: {_size(limits.memory)}: a worker takes {_size(memory)} before its first task; allow more"


def _size(count: int) -> str:
    return f"{count >> 20} MiB" if count >> 20 else f"{count} bytes"


def heavy(limits: RecycleLimits, use: WorkerUse) -> bool:
    """True if the last sample of the worker's memory exceeds the limit."""
    return limits.memory is not None and _heavy(limits.memory, use.growth, use.memory)


def _heavy(limit: int, growth: float | None, memory: int) -> bool:
    return memory >= RECYCLE_AT * limit or memory + (growth or 0.0) > limit


def claimable(limits: RecycleLimits, use: WorkerUse, held: int) -> int:
    """The number of tasks that the worker may claim. `held`: the number of tasks that it holds already."""
    tasks = UNBOUNDED if limits.most_tasks is None else limits.most_tasks - use.done
    return max(0, min(tasks, _room(limits, use)) - held)


def _room(limits: RecycleLimits, use: WorkerUse) -> int:
    """The number of tasks that the free memory allows to run at the same time."""
    if limits.memory is None:
        return UNBOUNDED
    growth = use.growth
    if growth is None:
        return 1
    return int((limits.memory - use.memory) / growth) if growth else UNBOUNDED
