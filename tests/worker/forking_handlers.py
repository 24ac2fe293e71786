"""Handlers that start processes, each as a coroutine and as a plain function: NAME and NAME-in-a-thread."""

from __future__ import annotations

import _signal
import asyncio
import concurrent.futures
import contextlib
import multiprocessing
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import anyio.from_thread
import anyio.to_thread

from holdfast import Handlers, Task
from tests.worker.odd_signal_handlers import misbehave, odd_handler

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


@main.register("beside")
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


def _ended(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _in_child(act: Callable[[], object]) -> list[Any]:
    """The answer of `act` in a child, or its error; and the exit status of the child."""
    reading, writing = os.pipe()
    if (pid := os.fork()) == 0:
        signal.alarm(int(PATIENCE))
        try:
            said = str(act())
        except BaseException as error:
            said = f"{type(error).__name__}: {error}"
        os.write(writing, said.encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, encoding="utf-8") as pipe:
        return [pipe.read(), _ended(pid)]


ODD = 300


def oddly_signalled() -> dict[int, str]:
    """The seeds of handlers with which a child is not as it should be: left alone by its worker, with the user's
    handler, ended when it comes back."""
    found: dict[int, str] = {}
    before = signal.getsignal(signal.SIGVTALRM)
    try:
        for seed in range(ODD):
            misbehave(False)
            odd = odd_handler(seed)
            _signal.signal(signal.SIGVTALRM, odd)
            misbehave(True)
            reading, writing = os.pipe()
            if (pid := os.fork()) == 0:
                signal.alarm(int(PATIENCE))
                os.write(writing, (_seen_in_child(odd) or "-").encode())
                return found
            os.close(writing)
            said = os.read(reading, 1000).decode()
            os.close(reading)
            status = _ended(pid)
            if said != "-" or status:
                found[seed] = f"{said}, ended with {status}"
    finally:
        misbehave(False)
        _signal.signal(signal.SIGVTALRM, before)
    return found


async def oddly_signalled_coroutine() -> dict[int, str]:
    return oddly_signalled()


handlers.register("oddly_signalled")(oddly_signalled_coroutine)
main.register("oddly_signalled-in-the-main-thread", thread="main")(oddly_signalled)


def _seen_in_child(odd: Any) -> str:
    usual = (None, signal.SIG_DFL, signal.SIG_IGN, signal.default_int_handler)
    others = [each for each in signal.valid_signals() - {signal.SIGVTALRM} if _signal.getsignal(each) not in usual]
    return " ".join(
        [
            *(["it was taken away"] if _signal.getsignal(signal.SIGVTALRM) is not odd else []),
            *(["all is blocked"] if mask() else []),
            *(["signals are told elsewhere"] if others or signal.set_wakeup_fd(-1) != -1 else []),
        ]
    )


def _asked(task: Task, call: str) -> object:
    """Ask the worker for something, in a thread."""
    match call:
        case "step":
            return task.step_sync("a step", double, 1)
        case "sleep":
            return task.sleep_sync(hours=1)
        case "question":
            return task.question_sync("when?")
        case "emit":
            return task.emit_sync("a part")
        case "checkpoint":
            return task.checkpoint(1)
        case "progress":
            return task.progress(1)
        case _:
            raise ValueError(call)


async def _awaited(task: Task, call: str) -> object:
    """The same in a coroutine."""
    match call:
        case "step":
            return await task.step("a step", double, 1)
        case "sleep":
            return await task.sleep(hours=1)
        case "question":
            return await task.question("when?")
        case "emit":
            return await task.emit("a part")
        case _:
            return _asked(task, call)


def _begun(coroutine: Any) -> object:
    """The result of a coroutine that waits for nothing."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    return "it waits"


@handlers.register("asks-in-a-thread")
@main.register("asks-in-the-main-thread", thread="main")
def asks_in_thread(task: Task, call: str) -> list[Any]:
    """The answer to a child that asks its worker for something."""
    if call == "step":
        task.step_sync("before", double, 1)
    return _in_child(lambda: _asked(task, call))


@handlers.register("asks")
async def asks(task: Task, call: str) -> list[Any]:
    if call == "step":
        await task.step("before", double, 1)
    return _in_child(lambda: _begun(_awaited(task, call)))


@handlers.register("submits")
@main.register("submits-in-the-main-thread", thread="main")
def submits() -> list[Any]:
    """A child that submits a task has its own connection."""
    return _in_child(lambda: beside.submit_sync(path="/dev/null").task_id)


@handlers.register("forked-beside")
async def forked_beside(how: str) -> int:
    return await asyncio.to_thread(forked, "", how)


@handlers.register("forked-beside-by-anyio")
async def forked_beside_by_anyio(how: str) -> int:
    return await anyio.to_thread.run_sync(forked, "", how)


@handlers.register("forked-in-a-pool")
async def forked_in_pool(how: str) -> int:
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        return await asyncio.wrap_future(pool.submit(forked, "", how))


@handlers.register("forked-in-a-step")
async def forked_in_step(task: Task, how: str) -> int:
    return await task.step("forked", forked, "", how)


@handlers.register("calls-back")
async def calls_back(how: str) -> list[Any]:
    """The answer to a child that uses the event loop of its worker from a thread."""
    loop = asyncio.get_running_loop()

    def call() -> object:
        match how:
            case "asyncio":
                return asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result()
            case "anyio":
                return anyio.from_thread.run(anyio.sleep, 0)
            case _:
                return loop.call_soon_threadsafe(print)

    return await anyio.to_thread.run_sync(_in_child, call)


@handlers.register("others-are-ready")
async def others_are_ready(path: str) -> int:
    """How a child ends that waits, while callbacks of others are ready and something comes to be read."""
    loop = asyncio.get_running_loop()
    never = loop.create_future()
    ours, theirs = socket.socketpair()
    loop.add_reader(ours, _note, path)
    theirs.send(b"!")
    loop.call_soon(_note, path)
    pid = os.fork()
    if pid == 0:
        signal.alarm(int(PATIENCE))
        await never
    status = _ended(pid)
    loop.remove_reader(ours)
    return status


@handlers.register("closes-there")
async def closes_there() -> bool:
    """A child that lets go of a connection takes nothing from the event loop of its worker."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    reader, writer = await asyncio.open_connection(sock=ours)
    pid = os.fork()
    if pid == 0:
        signal.alarm(int(PATIENCE))
        writer.transport.pause_reading()
        os._exit(0)
    _ended(pid)
    theirs.send(b"hello\n")
    line = await asyncio.wait_for(reader.readline(), PATIENCE)
    writer.close()
    return line == b"hello\n"


@handlers.register("cannot-leave")
async def cannot_leave() -> list[Any]:
    """The ends of two children: the first cannot be freed of its event loop, the second starts with all descriptors in
    use."""
    loop: Any = asyncio.get_running_loop()
    loop._get_backend_id = lambda: 1 / 0
    first = _in_child(mask)
    del loop._get_backend_id
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(100, limits[0]), limits[1]))
    taken: list[int] = []
    try:
        pipe = os.pipe()
        with contextlib.suppress(OSError):
            while True:
                taken.append(os.dup(0))
        if (pid := os.fork()) == 0:
            os.write(pipe[1], str(mask()).encode())
            os._exit(0)
        return [first, [os.read(pipe[0], 99).decode(), _ended(pid)]]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        for each in (*taken, *pipe):
            os.close(each)


def _note(path: str) -> None:
    with open(path, "a", encoding="utf-8") as file:  # noqa: PTH123 - one line
        file.write(f"{os.getpid()}\n")


around = Handlers()


@around.use
def plain_middleware(task: Task, call: Callable[[], Any]) -> Any:
    """Calls the handler in a child."""
    return _in_child(call)


@around.register("within-in-a-middleware")
async def within() -> None: ...
