"""A producer through TaskManager: one task at a time, and in batches."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio

from bench import work
from holdfast import TaskManager, open_store
from holdfast.core.task_states import State
from holdfast_config import RedisSettings, Settings

BATCH = 100
PATIENCE = 60.0  # seconds

QUEUE: str = Settings.model_fields["queue_name"].default


@dataclass(frozen=True, slots=True)
class Producer:
    """`one(number, sent_ns)` submits a task, `many(numbers)` a batch."""

    one: Callable[[int, int], Awaitable[object]]
    many: Callable[[Sequence[int]], Awaitable[object]]

    async def in_batches(self, numbers: Sequence[int]) -> float:
        """Tasks a second, a hundred in a call."""
        started = time.perf_counter()
        for start in range(0, len(numbers), BATCH):
            await self.many(numbers[start : start + BATCH])
        return len(numbers) / (time.perf_counter() - started)


@asynccontextmanager
async def managing(url: str) -> AsyncGenerator[TaskManager]:
    async with open_store(RedisSettings(url, 10, QUEUE)) as store:
        yield TaskManager(store, queue=QUEUE)


@asynccontextmanager
async def ours(url: str) -> AsyncGenerator[Producer]:
    async with managing(url) as manager:
        yield Producer(
            lambda number, sent_ns: manager.run_tasks([work.spec(number, sent_ns)]),
            lambda numbers: manager.run_tasks([work.spec(number) for number in numbers]),
        )


async def all_completed(url: str, count: int) -> None:
    """Wait until so many tasks have a recorded result; TimeoutError if they do not get one."""
    async with managing(url) as manager:
        with anyio.fail_after(PATIENCE):
            while await manager.count_tasks(State.COMPLETED) < count:  # noqa: ASYNC110  # of another process
                await anyio.sleep(0.05)
