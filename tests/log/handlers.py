"""Handlers that print in every way. `hold` ends when the test pushes to `go:<task id>`."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import os
import subprocess
import sys
import threading
import warnings

import redis.asyncio as aioredis

from holdfast import Handlers, Task
from tests.faults.handlers import LONGEST, URL, tell

print("printed at the import")
handlers = Handlers()


@handlers.register("speak")
async def speak(text: str, task: Task) -> str:
    print(f"print {text}")
    print("two", "lines", sep="\n")
    sys.stderr.write("to standard error\n")
    sys.stdout.buffer.write(b"bytes \xff\n")
    logging.getLogger("billing").warning("logged %s", text)
    warnings.warn("warned", stacklevel=1)
    task.logger.info("said", invoice=17)
    await asyncio.gather(asyncio.to_thread(print, "from a thread"), _child())
    thread = threading.Thread(target=contextvars.copy_context().run, args=(print, "from a thread of its own"))
    thread.start()
    await asyncio.to_thread(thread.join)
    os.write(2, b"RAW write\n")
    await asyncio.to_thread(subprocess.run, ["sh", "-c", "echo RAW child >&2"], check=True)
    print("no end", end="")
    return text


async def _child() -> None:
    await asyncio.sleep(0)
    print("from a child task")


@handlers.register("speak_sync")
def speak_sync(text: str) -> str:
    print(f"sync {text}")
    return text


@handlers.register("hold")
async def hold(task: Task) -> str:
    print("flushed before the kill", end="", flush=True)
    tell(task)
    async with aioredis.Redis.from_url(os.environ[URL], socket_timeout=None) as client:
        await client.blpop([f"go:{task.id}"], timeout=LONGEST)
    return "held"


@handlers.register("fail", max_attempts=1)
async def fail(text: str) -> None:
    raise RuntimeError(text)


@handlers.default
async def any_other(messages: list[dict[str, object]]) -> str:
    print("without a name")
    return "done"
