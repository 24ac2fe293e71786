"""Handlers that start processes, each as a coroutine and as a plain function: NAME and NAME-in-a-thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from holdfast import Handlers

handlers = Handlers()
main = Handlers()  # their worker has its event loop in another thread
ENDLESS = 600.0
PATIENCE = 10.0


def both_ways(function: Callable[..., Any]) -> Callable[..., Any]:
    async def coroutine(method: str = "fork", how: str = "") -> Any:
        return function(method, how)

    def plain(method: str = "fork", how: str = "") -> Any:
        return function(method, how)

    handlers.register(function.__name__)(coroutine)
    handlers.register(f"{function.__name__}-in-a-thread")(plain)
    main.register(f"{function.__name__}-in-the-main-thread", thread="main")(plain)
    return function


def endless() -> None:
    time.sleep(ENDLESS)


def double(number: int) -> int:
    return 2 * number


def signals_of_a_worker(_: int) -> list[str]:
    """The signals for which this process has a handler of its own, and if one would be told elsewhere."""
    wakes = signal.set_wakeup_fd(-1)
    numbers = [signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2, signal.SIGCHLD, signal.SIGHUP]
    usual = (signal.SIG_DFL, signal.default_int_handler)
    found = [signal.Signals(each).name for each in numbers if signal.getsignal(each) not in usual]
    blocked = sorted(int(each) for each in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
    return [*found, *(["wake-up"] if wakes != -1 else []), *map(str, blocked)]


@handlers.register("who")
@main.register("who")
async def who() -> int:
    return os.getpid()


@both_ways
def terminated(method: str, _: str) -> int | None:
    """The exit code of a child that is told to end at once."""
    child = multiprocessing.get_context(method).Process(target=endless)
    child.start()
    child.terminate()
    child.join(PATIENCE)
    return child.exitcode


@both_ways
def left_pool(method: str, _: str) -> list[int]:
    with multiprocessing.get_context(method).Pool(2) as pool:
        done = pool.map(double, [1, 2])
        pool.apply_async(endless)
    return done


@both_ways
def managed(method: str, _: str) -> list[int]:
    with multiprocessing.get_context(method).Manager() as manager:
        shared = manager.list([1])
        shared.append(2)
        return list(shared)


@both_ways
def executed(method: str, _: str) -> list[int]:
    with concurrent.futures.ProcessPoolExecutor(2, multiprocessing.get_context(method)) as pool:
        return list(pool.map(double, [1, 2]))


@both_ways
def inherited(method: str, _: str) -> list[str]:
    with multiprocessing.get_context(method).Pool(1) as pool:
        return pool.map(signals_of_a_worker, [0])[0]


async def forked_within(how: str) -> int:
    return forked("", how)


@both_ways
def forked(_: str, how: str) -> int:
    """How a child ends that does so in this way."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    signal.alarm(int(PATIENCE))  # one that goes on as a worker is told from the others
    if how == "exits":
        sys.exit(3)
    if how == "raises":
        raise ValueError("in the child")
    if how == "signalled":
        os.kill(os.getpid(), signal.SIGTERM)
    return -1


handlers.register("bounded", timeout=PATIENCE)(forked_within)


@handlers.register("waits")
async def waits() -> int:
    """How a child ends that waits for the event loop."""
    never = asyncio.get_running_loop().create_future()
    pid = os.fork()
    if pid == 0:
        signal.alarm(int(PATIENCE))
        await never
    return os.waitstatus_to_exitcode((await asyncio.to_thread(os.waitpid, pid, 0))[1])


@handlers.register("beside")
async def beside(path: str) -> None:
    """Counts the processes that call it."""
    with open(path, "a", encoding="utf-8") as file:  # noqa: ASYNC230, PTH123 - one line
        file.write(f"{os.getpid()}\n")


def _own(_number: int, _frame: object) -> None: ...


@handlers.register("own")
def own() -> list[bool]:
    """A handler of the user's own and the mask stay in a child, and the mask in this thread."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGWINCH])
    try:
        with multiprocessing.get_context("fork").Pool(1) as pool:
            there = pool.apply(mask)
        return [there == [signal.SIGWINCH], mask() == [signal.SIGWINCH], threading.active_count() > 0]
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def mask() -> list[int]:
    return sorted(int(each) for each in signal.pthread_sigmask(signal.SIG_BLOCK, ()))


signal.signal(signal.SIGVTALRM, _own)


@handlers.register("kept")
async def kept() -> bool:
    """A handler that the user's module has set stays in a child."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return bool(pool.apply(has_own))


def has_own() -> bool:
    return signal.getsignal(signal.SIGVTALRM) is _own
