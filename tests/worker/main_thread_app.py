"""Handlers that need the main thread: they set signal handlers. Each tells its process id when it runs."""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

from holdfast import Handlers, Task
from holdfast.os.loop_threads import is_thread_of_loop
from tests.faults.handlers import LONGEST, tell

handlers = Handlers()


class AlarmError(Exception):
    """Raised by the handler of SIGALRM."""


def _alarm(_number: int, _frame: object) -> None:
    raise AlarmError


@handlers.register("alarm", thread="main")
def alarm(task: Task) -> str:
    """Ends its sleep by a signal, then records a step."""
    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.01)
    try:
        time.sleep(LONGEST)
    except AlarmError:
        return task.step_sync("said", lambda: type(threading.current_thread()).__name__)
    return "slept"


@handlers.register("leave", thread="main")
def leave() -> str:
    """Leaves a timer behind that would interrupt what follows."""
    signal.signal(signal.SIGALRM, _alarm)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    return "left"


@handlers.register("heeded", thread="main")
def heeded() -> str:
    """The settings of the process that `leave` would have changed for others."""
    handler = signal.getsignal(signal.SIGALRM)
    return handler.name if isinstance(handler, signal.Handlers) else repr(handler)


@handlers.register("stay", thread="main", max_attempts=1)
def stay(task: Task) -> None:
    """Sleeps until somebody interrupts it."""
    tell(task)
    time.sleep(LONGEST)


@handlers.register("outlast", thread="main")
def outlast(task: Task) -> str:
    """Takes longer than the timer of `leave`; a coroutine of its own runs in it."""
    return asyncio.run(_wait(task))


async def _wait(task: Task) -> str:
    await asyncio.sleep(0.5)
    return str(os.getpid())


@handlers.register("loop")
async def loop() -> str:
    """The library whose event loop this is; the worker's own class is made of it."""
    modules = [each.__module__.partition(".")[0] for each in type(asyncio.get_running_loop()).__mro__]
    return next(module for module in modules if module != "holdfast")


@handlers.register("fork", thread="main")
def fork() -> list[object]:
    """Forks processes: of a pool, and one that is terminated at once."""
    forking = multiprocessing.get_context("fork")
    child = forking.Process(target=time.sleep, args=(LONGEST,))
    child.start()
    child.terminate()
    child.join()
    with forking.Pool(1) as pool:
        return [-(child.exitcode or 0), pool.apply(is_thread_of_loop)]


surrounded = Handlers()


@surrounded.use
async def in_loop(_task: Task, call: Callable[[], Awaitable[Any]]) -> Any:
    return [threading.current_thread() is threading.main_thread(), *await call()]


@surrounded.use
def plain(_task: Task, call: Callable[[], Any]) -> Any:
    return [threading.current_thread() is threading.main_thread(), *call()]


@surrounded.register("inside", thread="main")
def inside() -> list[bool]:
    return [threading.current_thread() is threading.main_thread()]
