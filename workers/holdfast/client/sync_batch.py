"""A batch without async: what `batch` of `holdfast.sync.TaskManager` answers."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

from holdfast.client.background_loop import BackgroundLoop
from holdfast.client.batch import Batch
from holdfast.client.manager import TaskManager
from holdfast.client.sync_call import ServedByTest
from holdfast.core.batches import BatchTask, TaskEnd

P = ParamSpec("P")
R = TypeVar("R")


def _sync(method: Callable[Concatenate[Batch, P], Awaitable[R]]) -> Callable[Concatenate[SyncBatch, P], R]:
    @functools.wraps(method)
    def call(self: SyncBatch, /, *args: P.args, **kwargs: P.kwargs) -> R:
        background = self.running()
        return background.call(functools.partial(method, background.served.batch(self.id)), *args, **kwargs)

    return call


class SyncBatch:
    """A batch by its id."""

    def __init__(self, running: Callable[[], BackgroundLoop[TaskManager] | ServedByTest], batch_id: str) -> None:
        self.running = running
        self.id = running().served.batch(batch_id).id

    record = _sync(Batch.record)
    wait = _sync(Batch.wait)
    seal = _sync(Batch.seal)
    cancel = _sync(Batch.cancel)

    @functools.wraps(Batch.tasks)
    def tasks(self, *ends: TaskEnd | str) -> Iterator[BatchTask]:
        background = self.running()
        return each(background, background.served.batch(self.id).tasks(*ends))


def each(background: BackgroundLoop[Any] | ServedByTest, values: AsyncGenerator[R, None]) -> Iterator[R]:
    """The values of an async generator, one call of its loop for each."""
    try:
        while (value := background.call(anext, values, None)) is not None:
            yield value
    finally:
        background.call(values.aclose)
