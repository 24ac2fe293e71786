"""Schedules without async: `manager.schedules` of `holdfast.sync.TaskManager`."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from typing import Concatenate, ParamSpec, TypeVar

from holdfast.client.background_loop import BackgroundLoop
from holdfast.client.manager import TaskManager
from holdfast.client.schedules import Schedules as AsyncSchedules
from holdfast.client.sync_call import ServedByTest

P = ParamSpec("P")
R = TypeVar("R")


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
