"""The tasks of the play: `<verb> <argument>`. Every start and every end of a handler is written down."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread

from holdfast import Retry, Task
from tests.chaos import history_file

RUNS, HOST, FAULTS = "CHAOS_RUNS", "CHAOS_HOST", "CHAOS_FAULTS"
PARENT = "CHAOS_PARENT"  # its process id; whoever forked it is another once it is dead

Verb = Callable[[list[dict[str, Any]], Task, str], Awaitable[object]]


async def act(messages: list[dict[str, Any]], task: Task) -> object:
    text = str(messages[-1]["parts"][0]["text"])
    verb, _, argument = text.partition(" ")
    run = {"id": task.id, "turn": task.turn, "delivery": task.delivery, "pid": os.getpid()}
    joined = [message["message_id"] for message in task.operation.messages[:-1]]
    about = {"message": messages[-1]["message_id"], "joined": joined, "verb": verb, "host": os.environ[HOST]}
    history_file.write(os.environ[RUNS], what="start", **about, **run)
    how = "cancelled"
    try:
        result = await VERBS[verb](messages, task, argument)
        how = "returned"
        return result
    except Exception:
        how = "raised"
        raise
    finally:
        history_file.write(os.environ[RUNS], what="end", how=how, **run)


async def nap(messages: list[dict[str, Any]], task: Task, seconds: str) -> object:
    await anyio.sleep(float(seconds))
    return {"text": task.idempotency_key}


async def block(messages: list[dict[str, Any]], task: Task, seconds: str) -> object:
    """In a thread, where no cancellation reaches it."""
    await anyio.to_thread.run_sync(time.sleep, float(seconds))
    return {"text": task.idempotency_key}


async def big(messages: list[dict[str, Any]], task: Task, padding: str) -> object:
    return {"length": len(padding)}


async def fail(messages: list[dict[str, Any]], task: Task, times: str) -> object:
    """As often as it says, then never again."""
    if task.attempts < int(times):
        raise Retry(after=0.05)
    return "at last"


async def broken(messages: list[dict[str, Any]], task: Task, argument: str) -> object:
    raise ValueError("this task never succeeds")


async def step(messages: list[dict[str, Any]], task: Task, count: str) -> object:
    """Saves a checkpoint after each step and goes on from it."""
    for done in range(int(task.last_checkpoint or 0), int(count)):
        await anyio.sleep(0.02)
        task.checkpoint(done + 1)
    return int(count)


async def ask(messages: list[dict[str, Any]], task: Task, argument: str) -> object:
    return {"state": "input-required", "prompt": "what next?"}


async def abort(messages: list[dict[str, Any]], task: Task, argument: str) -> object:
    os.abort()


async def end_host(messages: list[dict[str, Any]], task: Task, argument: str) -> object:
    """Kill all that its supervisor has, and the supervisor first: nobody is left to report a death."""
    parent, me = int(os.environ[PARENT]), os.getpid()
    pids = [me] if os.getppid() != parent else [parent, *(pid for pid in _children(parent) if pid != me), me]
    history_file.write(os.environ[FAULTS], fault="supervisor killed by a task", what="hits", pids=pids)
    for pid in pids:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _children(parent: int) -> list[int]:
    """Of a parent that is stopped first: it forks no more."""
    os.kill(parent, signal.SIGSTOP)
    return [int(pid) for pid in Path(f"/proc/{parent}/task/{parent}/children").read_text().split()]


async def cancel_itself(messages: list[dict[str, Any]], task: Task, argument: str) -> object:
    current = asyncio.current_task()
    assert current is not None
    current.cancel()
    await anyio.sleep(60.0)


async def leave_scope(messages: list[dict[str, Any]], task: Task, argument: str) -> object:
    anyio.CancelScope().__enter__()
    return "never counts"


VERBS: dict[str, Verb] = {
    each.__name__: each
    for each in (nap, block, big, fail, broken, step, ask, abort, end_host, cancel_itself, leave_scope)
}
