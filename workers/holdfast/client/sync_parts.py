"""Schedules without async: `manager.schedules` of `holdfast.sync.TaskManager`."""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from typing import Any, Concatenate, ParamSpec, TypeVar

from holdfast.client.batch import Batch
from holdfast.client.loops import BackgroundLoop, ServedByTest
from holdfast.client.manager import TaskManager
from holdfast.client.schedules import Schedules as AsyncSchedules
from holdfast.core.batches import BatchTask, TaskEnd

# A batch without async: what `batch` of `holdfast.sync.TaskManager` answers.

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


def _scheduling(
    method: Callable[Concatenate[AsyncSchedules, P], Awaitable[R]],
) -> Callable[Concatenate[SyncSchedules, P], R]:
    @functools.wraps(method)
    def call(self: SyncSchedules, /, *args: P.args, **kwargs: P.kwargs) -> R:
        background = self.running()
        return background.call(functools.partial(method, background.served.schedules), *args, **kwargs)

    return call


class SyncSchedules:
    """The schedules of a manager's queue."""

    def __init__(self, running: Callable[[], BackgroundLoop[TaskManager] | ServedByTest]) -> None:
        self.running = running

    upsert = _scheduling(AsyncSchedules.upsert)
    put = _scheduling(AsyncSchedules.put)
    declare = _scheduling(AsyncSchedules.declare)
    put_all = _scheduling(AsyncSchedules.put_all)
    begin = _scheduling(AsyncSchedules.begin)
    check = _scheduling(AsyncSchedules.check)
    check_all = _scheduling(AsyncSchedules.check_all)
    owned = _scheduling(AsyncSchedules.owned)
    known = _scheduling(AsyncSchedules.known)
    get = _scheduling(AsyncSchedules.get)
    list = _scheduling(AsyncSchedules.list)
    pause = _scheduling(AsyncSchedules.pause)
    resume = _scheduling(AsyncSchedules.resume)
    remove = _scheduling(AsyncSchedules.remove)
    run = _scheduling(AsyncSchedules.run)
    history = _scheduling(AsyncSchedules.history)
    preview = _scheduling(AsyncSchedules.preview)
