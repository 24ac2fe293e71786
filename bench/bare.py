"""What to be at least as fast as: a hand-written loop of BLPOP, the handler, HSET; nothing is kept safe.

`python -m bench.bare URL` says `ready`, begins with the first line it reads, and ends when its input does.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import Any

import redis.asyncio
import uvloop

from bench.records import record
from bench.work import read

QUEUE = "bare"


async def handler(task: dict[str, Any]) -> None:
    record(*read(task["params"]["message"]["parts"][0]["text"]))


async def loop(client: Any) -> None:
    while True:
        popped = await client.blpop(QUEUE, timeout=1)
        if popped is None:
            continue
        task = json.loads(popped[1])
        await handler(task)
        await client.hset(f"task:{task['params']['task_id']}", mapping={"state": "completed"})


async def main(url: str) -> None:
    client: Any = redis.asyncio.from_url(url)
    await client.ping()
    print("ready", flush=True)
    await asyncio.to_thread(sys.stdin.readline)
    working = asyncio.create_task(loop(client))
    await asyncio.to_thread(sys.stdin.readline)
    working.cancel()


@contextmanager
def workers(url: str, count: int, environ: dict[str, str]) -> Generator[None]:
    """So many bare loops, each a process, begun together; ended with the block."""
    command = [sys.executable, "-m", "bench.bare", url]
    with ExitStack() as stack:
        processes = [stack.enter_context(_process(command, environ)) for _ in range(count)]
        for process in processes:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n", "the bare loop does not start"
        for process in processes:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        yield


@contextmanager
def _process(command: list[str], environ: dict[str, str]) -> Generator[subprocess.Popen[str]]:
    pipe = subprocess.PIPE
    with subprocess.Popen(command, env=environ, stdin=pipe, stdout=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1]))
