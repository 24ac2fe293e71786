"""Handlers that speak with their test through lists on the same server: `started`, `stopped` and `go:<word>`.

The text of a message is the word of the task; the test lets a waiting handler go on by pushing to `go:<word>`.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import msgspec
import redis
import redis.asyncio as aioredis

from holdfast import Handlers, Reject, Retry, Task

URL = os.environ.get("TEST_SERVER_URL", "")
LONGEST = 60  # seconds; a test that forgets a handler must not hang

Messages = list[dict[str, Any]]


def word_of(messages: Messages) -> str:
    return str(messages[-1]["parts"][0]["text"])


def tell(list_name: str, text: str) -> None:
    with redis.Redis.from_url(URL) as client:
        client.rpush(list_name, text)


async def echo(messages: Messages) -> str:
    return word_of(messages)


def echo_in_thread(messages: Messages) -> str:
    return f"{word_of(messages)} in {threading.current_thread() is not threading.main_thread()}"


async def wait(messages: Messages, task: Task) -> str:
    """Tell that it started, then wait to be let go."""
    word = word_of(messages)
    async with aioredis.Redis.from_url(URL, socket_timeout=None) as client:
        await client.rpush("started", f"{word} {task.delivery} {os.getpid()}")
        try:
            await client.blpop([f"go:{word}"], timeout=LONGEST)
        except anyio.get_cancelled_exc_class():
            tell("stopped", word)
            raise
    return f"{word} done"


def wait_in_thread(messages: Messages) -> str:
    word = word_of(messages)
    with redis.Redis.from_url(URL, socket_timeout=None) as client:
        client.rpush("started", f"{word} 0 {os.getpid()}")
        client.blpop([f"go:{word}"], timeout=LONGEST)
    return f"{word} done"


async def saving(messages: Messages, task: Task) -> object:
    """Keep a checkpoint, then wait; a later delivery answers with the checkpoint it was given."""
    if task.last_checkpoint is not None:
        return {"resumed from": task.last_checkpoint}
    task.checkpoint({"step": 3})
    return await wait(messages, task)


talks = Handlers()


@talks.register("deploy")
async def deploy(region: str, messages: Messages, task: Task) -> object:
    """Keep a checkpoint and its key, then wait; with more than one message tell what it was given."""
    before = task.last_checkpoint or {"step": 3, "keys": []}
    before["keys"].append(task.idempotency_key)
    task.checkpoint(before)
    if len(messages) == 1:
        await wait([{"parts": [{"text": task.id}]}], task)
    heard = [message["content"][:24] for message in messages]
    return {
        "region": region,
        "heard": heard,
        "checkpoint": {"step": before["step"]},
        "attempts": task.attempts,
        "keys": before["keys"],
    }


async def ask(messages: Messages) -> object:
    if len(messages) == 1:
        return {"state": "input-required", "prompt": "which one?"}
    return [message["parts"][0].get("text") for message in messages]


async def count_up(messages: Messages, task: Task) -> AsyncIterator[int]:
    for number in range(3):
        task.progress(number, 3)
        yield number


async def fail(messages: Messages) -> None:
    raise ValueError(word_of(messages))


async def fail_once(messages: Messages, task: Task) -> str:
    if task.attempts == 0:
        raise Retry(after=0.01)
    return f"attempt {task.attempts}"


async def reject(messages: Messages) -> None:
    raise Reject("not for us")


RAW = {"torn": b'{"a":', "bytes": b'"\xff"', "nothing": b"", "two": b"1 2", "whole": b'{"a":[null]}'}


async def raw(messages: Messages) -> object:
    """Encoded already, well or not."""
    return {"it": msgspec.Raw(RAW[word_of(messages)])}


def cancel_own_task() -> None:
    """Cancel the asyncio task itself, as a library does that cleans up too much."""
    current = asyncio.current_task()
    assert current
    current.cancel()


async def cancel_itself(messages: Messages) -> str:
    if word_of(messages) == "well":
        return "well"
    cancel_own_task()
    await anyio.sleep_forever()
    return "never"


async def cancel_itself_and_wait(messages: Messages, task: Task) -> str:
    """Survive its own cancellation, then wait to be let go."""
    try:
        cancel_own_task()
        await anyio.lowlevel.checkpoint()
    except asyncio.CancelledError:
        pass
    return await wait(messages, task)


async def leave_scope_open(messages: Messages) -> str:
    if word_of(messages) == "well":
        return "well"
    anyio.CancelScope().__enter__()
    return "with a scope open"


async def cancel_everything(messages: Messages, task: Task) -> str:
    """Cancel every asyncio task of the process, those of the worker as well, at its first delivery."""
    if task.delivery > 1:
        return "well"
    for each in asyncio.all_tasks():
        each.cancel()
    await anyio.sleep_forever()
    return "never"


async def block(messages: Messages) -> None:
    tell("started", f"{word_of(messages)} 0 {os.getpid()}")
    time.sleep(LONGEST)  # noqa: ASYNC251 - what it is for: a handler that holds the event loop


named = Handlers()
_inside: list[str] = []
named.default(wait)


@named.register("narrow", concurrency=1)
async def narrow(task: Task) -> str:
    if _inside:
        raise Reject(f"two at once: {_inside}")
    _inside.append(task.id)
    try:
        return await wait([{"parts": [{"text": task.id}]}], task)
    finally:
        _inside.remove(task.id)


@named.register("patient", max_attempts=1)
async def patient() -> None:
    raise ValueError("once is enough")


limited = Handlers()


@limited.register("endless")
async def endless() -> None:
    await anyio.sleep(LONGEST)


@limited.register("brief", timeout=0.03)
async def brief() -> None:
    await anyio.sleep(LONGEST)


def talk(messages: Any) -> Any:
    """Asks until four messages have come, and then tells how long each was."""
    lengths = [len(message["parts"][0]["text"]) for message in messages if message["role"] == "user"]
    return lengths if len(lengths) == 4 else {"state": "input-required", "prompt": "and?"}
