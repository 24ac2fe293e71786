"""One handler that does what its task's text says: `<verb> <argument>`. It tells each run to `run:<task id>`.

`wait` and `hold` end when the test pushes to `go:<task id>`; `pipe` ends when the test has written into a named pipe,
which needs no store.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import ctypes
import logging
import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import psutil
import redis
import redis.asyncio as aioredis

from holdfast import Retry, Task
from holdfast.os.handlers_loop import PLACES
from tests.handler import hostile_errors

URL = "FAULTS_URL"
LONGEST = 120  # seconds; a test that forgets a handler must not hang
SILENT = {"quick", "sleep", "leak", "pipe"}
DOZE = 1.1  # seconds: a shorter sleep gives no slot back
LEAKED: list[bytearray] = []
LEFT: list[Any] = []

Verb = Callable[[Task, str], Awaitable[object]]


async def act(messages: list[dict[str, Any]], task: Task) -> object:
    verb, _, argument = str(messages[-1]["parts"][0]["text"]).partition(" ")
    if verb not in SILENT:
        tell(task)
    return await VERBS[verb](task, argument)


def tell(task: Task, *words: object) -> None:
    line = " ".join(map(str, (task.delivery, os.getpid(), *words)))
    with redis.Redis.from_url(os.environ[URL]) as client:
        client.hincrby("runs", task.id)
        client.rpush(f"run:{task.id}", line)


async def quick(task: Task, argument: str) -> str:
    return argument


async def sleep(task: Task, seconds: str) -> str:
    await anyio.sleep(float(seconds))
    return seconds


async def nap(task: Task, seconds: str) -> str:
    """Tells that it is over as well: a test's clock where nothing else can be heard of."""
    await anyio.sleep(float(seconds))
    tell(task)
    return seconds


async def leak(task: Task, megabytes: str) -> str:
    LEAKED.append(bytearray(int(megabytes) << 20))
    await anyio.sleep(0.01)
    return megabytes


async def ask(task: Task, argument: str) -> dict[str, str]:
    return {"state": "input-required", "prompt": argument or "what?"}


async def echo(task: Task, argument: str) -> str:
    return argument


async def wait(task: Task, argument: str) -> str:
    async with aioredis.Redis.from_url(os.environ[URL], socket_timeout=None) as client:
        await client.blpop([f"go:{task.id}"], timeout=LONGEST)
    return argument


async def again(task: Task, argument: str) -> str:
    """The first run asks for another one at once."""
    await wait(task, argument)
    if task.attempts == 0:
        raise Retry(after=0)
    return argument


async def mark(task: Task, argument: str) -> str:
    """Leaves a checkpoint and waits; the run that finds one answers with it."""
    if task.last_checkpoint is not None:
        return str(task.last_checkpoint)
    task.checkpoint(argument)
    return await wait(task, argument)


async def emits(task: Task, number: str) -> str:
    """The last part comes when the test says so."""
    for n in range(int(number)):
        await task.emit(f"part {n}")
    await wait(task, "")
    await task.emit("the last one")
    return number


async def emits_after(task: Task, paths: str) -> str:
    """Emits the name of each of these named pipes once the test has opened it."""
    await task.emit("before")
    for path in map(Path, paths.split()):
        await anyio.to_thread.run_sync(path.read_text)
        await task.emit(path.name)
    return paths


async def steps(task: Task, number: str) -> list[int]:
    """Each step answers how often it has been called."""
    return [await task.step(f"step {n}", call_step, task.id, n) for n in range(int(number))]


async def inquire(task: Task, argument: str) -> list[object]:
    """A step, a question, a step: what they answer; each step answers how often it has been called."""
    first = await task.step("step 0", call_step, task.id, 0)
    answer = await task.question(argument or "what?")
    return [first, answer, await task.step("step 1", call_step, task.id, 1)]


async def doze(task: Task, argument: str) -> list[int]:
    """`times [seconds]`: so often a sleep and a step, which answers how often it has been called."""
    times, _, seconds = argument.partition(" ")
    calls: list[int] = []
    for n in range(int(times)):
        await task.sleep(float(seconds or DOZE))
        calls.append(await task.step(f"step {n}", call_step, task.id, n))
    return calls


def call_step(task_id: str, step: int) -> int:
    with redis.Redis.from_url(os.environ[URL]) as client:
        called: Any = client.hincrby(f"calls:{task_id}", str(step))
        return int(called)


async def gather(task: Task, argument: str) -> dict[str, object]:
    """Answers with the values of the task's parents."""
    return {parent.task_id: parent.value for parent in task.parents.values()}


async def gather_when_told(task: Task, argument: str) -> dict[str, object]:
    await wait(task, argument)
    return await gather(task, argument)


async def pipe(task: Task, path: str) -> str:
    return await anyio.to_thread.run_sync(Path(path).read_text)


async def hold(task: Task, argument: str) -> str:
    """Keeps the event loop from turning. The test sees by the name of the connection that the wait has begun."""
    with redis.Redis.from_url(os.environ[URL], socket_timeout=None, client_name=f"hold:{task.id}") as client:
        client.blpop([f"go:{task.id}"], timeout=LONGEST)
    return argument


async def stiffen(task: Task, argument: str) -> str:
    """From now on SIGUSR2 keeps this worker's event loop from turning until the test goes, though no handler runs."""

    def stand_still() -> None:
        with redis.Redis.from_url(os.environ[URL], socket_timeout=None) as client:
            client.blpop([f"go:{task.id}"], timeout=LONGEST)

    asyncio.get_running_loop().add_signal_handler(signal.SIGUSR2, stand_still)
    return argument


async def hang_once(task: Task, argument: str) -> str:
    if task.delivery == 1:
        time.sleep(LONGEST)  # noqa: ASYNC251 - what it is for
    return argument


async def grip_once(task: Task, argument: str) -> str:
    """Native code that keeps the interpreter's lock: no other thread of this process runs any more."""
    if task.delivery == 1:
        ctypes.PyDLL(None).sleep(LONGEST)
    return argument


async def starve_once(task: Task, argument: str) -> str:
    """No memory is left to this process: what it cannot have is an exception of its own."""
    if task.attempts == 0:
        before = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (before[0] if before[0] > 0 else 1 << 33, before[1]))
        used = psutil.Process().memory_info().vms
        resource.setrlimit(resource.RLIMIT_AS, (used + (64 << 20), before[1]))
        try:
            return str(len(bytearray(1 << 30)))
        finally:
            resource.setrlimit(resource.RLIMIT_AS, before)
    return argument


async def starve(task: Task, argument: str) -> None:
    """Native code that gets no more memory and gives up, as most of it does."""
    allocate = ctypes.PyDLL(None).malloc
    allocate.argtypes, allocate.restype = [ctypes.c_size_t], ctypes.c_void_p
    used = psutil.Process().memory_info().vms
    resource.setrlimit(resource.RLIMIT_AS, (used + (8 << 20), used + (8 << 20)))
    while allocate(1 << 20):
        pass
    os.abort()


async def clutch_once(task: Task, argument: str) -> str:
    """A process that flees with every descriptor of this one, its channel to the parent among them; then the end."""
    if task.delivery == 1:
        if os.fork() == 0:
            os.setsid()
            signal.pause()
        os.kill(os.getpid(), signal.SIGKILL)
    return argument


async def fork_once(task: Task, argument: str) -> str:
    """Forks a child without exec that flees, tells its pid, and waits; later runs only answer."""
    if task.delivery > 1:
        return argument
    pid = os.fork()
    if pid == 0:
        os.setsid()
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(LONGEST)
        while True:
            signal.pause()
    tell(task, pid)
    return await wait(task, argument)


async def leave_once(task: Task, argument: str) -> str:
    """Starts a process that does not have our environment, tells its pid, and waits; later runs only answer."""
    if task.delivery > 1:
        return argument
    child = subprocess.Popen(["sleep", str(LONGEST)], env={"PATH": os.environ["PATH"]})  # noqa: ASYNC220
    tell(task, child.pid)
    return await wait(task, argument)


async def halt_once(task: Task, argument: str) -> str:
    """Stops its process again as often as somebody continues it."""
    while task.delivery == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
        time.sleep(0.05)  # noqa: ASYNC251 - the loop shall not turn
    return argument


async def end_once(task: Task, how: str) -> str:
    if task.delivery == 1:
        ENDINGS[how]()
    return how


async def raises(task: Task, which: str) -> None:
    """An error that cannot be shown as others are, before or in `logging.exception` and out of the handler."""
    try:
        getattr(hostile_errors, which)()
    except hostile_errors.ApiError:
        logging.getLogger("mine").exception("a call has failed")
        raise


_KEPT: list[asyncio.Task[None]] = []


async def _around(ending: Callable[[], Coroutine[Any, Any, None]]) -> None:
    await asyncio.create_task(ending())


async def exits(task: Task, how: str) -> str:
    """SystemExit or KeyboardInterrupt, raised where the event loop meets it; where it was caught, all is well."""
    place, _, kind = how.partition(" ")
    error = KeyboardInterrupt if kind == "interrupt" else partial(SystemExit, 3)
    loop = asyncio.get_running_loop()

    async def ending() -> None:
        await asyncio.sleep(0)
        raise error()

    def ending_at_once(*_: object) -> None:
        raise error()

    match place:
        case "gather":
            await asyncio.gather(ending(), asyncio.sleep(0.01))
        case "awaited":
            await asyncio.create_task(ending())
        case "caught":
            try:
                await asyncio.create_task(ending())
            except (SystemExit, KeyboardInterrupt):
                return "went on"
        case "group":
            async with asyncio.TaskGroup() as group:
                group.create_task(ending())
        case "anyio":
            async with anyio.create_task_group() as nursery:
                nursery.start_soon(ending)
        case "background":
            left = asyncio.create_task(ending())
            await asyncio.sleep(0.02)
            assert left.done()
        case "kept":  # by the module, as many programs do so that it is not forgotten
            _KEPT.append(asyncio.create_task(ending()))
            await asyncio.sleep(0.02)
        case "kept-around":
            _KEPT.append(asyncio.create_task(_around(ending)))
            await asyncio.sleep(0.02)
        case "looked-at":
            _KEPT.append(kept := asyncio.create_task(ending()))
            await asyncio.sleep(0.02)
            assert kept.exception()
        case "callback":
            loop.call_soon(ending_at_once)
            await asyncio.sleep(0.02)
        case "later":
            loop.call_later(0.001, ending_at_once)
            await asyncio.sleep(0.02)
        case "done":
            loop.create_task(asyncio.sleep(0)).add_done_callback(ending_at_once)
            await asyncio.sleep(0.02)
        case "thread":
            await asyncio.to_thread(ending_at_once)
        case "executor":
            await loop.run_in_executor(None, ending_at_once)
        case "step":
            await task.step("one", ending)
        case "step-thread":
            await task.step("one", ending_at_once)
        case "generator":
            async for _ in _ends_later(ending):
                pass
        case _:
            raise ValueError(how)
    return "went on"


async def _ends_later(ending: Callable[[], Awaitable[None]]) -> AsyncIterator[int]:
    yield 1
    await ending()


async def leaves(task: Task, what: str) -> str:
    """A thread or an asyncio task that does not end, and that nobody waits for any more."""
    loop = asyncio.get_running_loop()
    match what:
        case "thread":
            with anyio.move_on_after(0.01):
                await asyncio.to_thread(time.sleep, LONGEST)
        case "executor":
            loop.run_in_executor(None, time.sleep, LONGEST)
        case "all":
            for _ in range(PLACES):
                loop.run_in_executor(None, time.sleep, LONGEST)
        case "pool":
            LEFT.append(concurrent.futures.ThreadPoolExecutor(1).submit(time.sleep, LONGEST))
        case "task":
            LEFT.append(asyncio.create_task(_unending()))
        case "generator":
            LEFT.append(_unending_generator())
            await anext(LEFT[-1])
        case _:
            threading.Thread(target=time.sleep, args=(LONGEST,)).start()
    return what


async def threads_when_told(task: Task, argument: str) -> str:
    """Then it needs a place in the default executor."""
    await wait(task, argument)
    return await asyncio.to_thread(str, argument)


async def _unending() -> None:
    while True:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(LONGEST)


async def _unending_generator() -> AsyncIterator[int]:
    try:
        yield 1
    finally:
        await _unending()


async def poison(task: Task, argument: str) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


async def fell(task: Task, argument: str) -> None:
    """As a kernel that is out of memory kills a whole control group: nobody is left who could report the death."""
    supervisor = psutil.Process(os.getppid())
    supervisor.suspend()
    for each in supervisor.children(recursive=True):
        if each.pid != os.getpid():
            each.kill()
    supervisor.kill()
    os.kill(os.getpid(), signal.SIGKILL)


async def unwilling(task: Task, argument: str) -> str:
    """Blocks SIGTERM in every thread that will ever be asked."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    return await wait(task, argument)


async def stubborn(task: Task, argument: str) -> str:
    """Does not end when it is cancelled."""
    with anyio.CancelScope(shield=True):
        await wait(task, argument)
    return argument


async def parent_of_two(task: Task, argument: str) -> str:
    """Starts a process in this group and one that fled from it, tells their pids, and waits; later runs only answer."""
    if task.delivery > 1:
        return argument
    tell(task, *(_start_sleeper(fled=fled) for fled in (False, True)))
    return await wait(task, argument)


def _start_sleeper(*, fled: bool) -> int:
    return subprocess.Popen(["sleep", "1000"], start_new_session=fled).pid


def crash() -> None:
    ctypes.string_at(0)


ENDINGS: dict[str, Callable[[], object]] = {
    "SIGSEGV": crash,
    "SIGABRT": os.abort,
    "0": lambda: os._exit(0),
    "1": lambda: os._exit(1),
}

VERBS: dict[str, Verb] = {
    each.__name__: each
    for each in (
        quick,
        sleep,
        nap,
        leak,
        ask,
        echo,
        wait,
        again,
        mark,
        emits,
        emits_after,
        steps,
        gather,
        gather_when_told,
        doze,
        inquire,
        pipe,
        hold,
        stiffen,
        hang_once,
        halt_once,
        grip_once,
        starve_once,
        starve,
        clutch_once,
        end_once,
        raises,
        exits,
        leaves,
        threads_when_told,
        poison,
        fell,
        unwilling,
        stubborn,
        parent_of_two,
        fork_once,
        leave_once,
    )
}
