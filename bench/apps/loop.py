"""The limit: a loop on asyncio and hiredis. Each connection pops an entry, runs the handler, writes the state.

Nothing is kept safe: what a process has popped is lost when it dies. `python -m bench.apps.loop` is one worker with as
many loops as the option `connections` says.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import hiredis
import uvloop

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record

QUEUE = "loop"
POPPED_WITHIN = 1  # seconds that one BLPOP waits
Reply = Any


class Connection(asyncio.Protocol):
    """Replies come in the order of the commands."""

    def __init__(self) -> None:
        self._reader = hiredis.Reader()
        self._waiting: deque[asyncio.Future[Reply]] = deque()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (reply := self._reader.gets()) is not False:
            self._waiting.popleft().set_result(reply)

    def call(self, *command: str | int) -> asyncio.Future[Reply]:
        reply: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self._waiting.append(reply)
        self._transport.write(hiredis.pack_command(command))
        return reply

    def close(self) -> None:
        self._transport.close()


async def connect() -> Connection:
    server = urlsplit(place.URL)
    _, connection = await asyncio.get_running_loop().create_connection(Connection, server.hostname, server.port)
    return connection


async def _handle(task: dict[str, Any]) -> None:
    if "seconds" in task:
        await place.sleep(task["number"], task["seconds"])
    else:
        record(task["number"], task.get("sent_ns", 0))


async def _pop_and_run() -> None:
    connection = await connect()
    while True:
        popped = await connection.call("BLPOP", QUEUE, POPPED_WITHIN)
        if popped is None:
            continue
        task = json.loads(popped[1])
        await _handle(task)
        await connection.call("HSET", f"task:{task['number']}", "state", "completed")


async def main() -> None:
    async with asyncio.TaskGroup() as loops:
        for _ in range(place.OPTIONS.get("connections", 1)):
            loops.create_task(_pop_and_run())


class _Open:
    connection: Connection


@asynccontextmanager
async def _opened() -> AsyncGenerator[None]:
    _Open.connection = await connect()
    yield
    _Open.connection.close()


def _entry(**task: object) -> str:
    return json.dumps(task)


async def _run(number: int) -> None:
    await _Open.connection.call("RPUSH", QUEUE, _entry(number=number, payload=PAYLOAD))


async def _timed(sent_ns: int) -> None:
    await _Open.connection.call("RPUSH", QUEUE, _entry(number=0, sent_ns=sent_ns))


async def _slow(number: int, seconds: float) -> None:
    await _Open.connection.call("RPUSH", QUEUE, _entry(number=number, seconds=seconds))


async def _many(numbers: Sequence[int]) -> None:
    await _Open.connection.call("RPUSH", QUEUE, *(_entry(number=number, payload=PAYLOAD) for number in numbers))


CALLS = Calls(_run, _timed, _slow, _many, opened=_opened)

if __name__ == "__main__":
    uvloop.run(main())
