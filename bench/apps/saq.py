"""saq: state and result are in the job's key."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from saq import Queue

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record

asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
queue = Queue.from_url(place.URL)


async def noop(context: Any, *, number: int, payload: str) -> None:
    record(number)


async def timed(context: Any, *, sent_ns: int) -> None:
    record(0, sent_ns)


async def slow(context: Any, *, number: int, seconds: float) -> None:
    await place.sleep(number, seconds)


settings = {"queue": queue, "functions": [noop, timed, slow]}


@asynccontextmanager
async def _opened() -> AsyncGenerator[None]:
    await queue.connect()
    yield
    await queue.disconnect()


async def _run(number: int) -> None:
    await queue.enqueue("noop", number=number, payload=PAYLOAD)


async def _timed(sent_ns: int) -> None:
    await queue.enqueue("timed", sent_ns=sent_ns)


async def _slow(number: int, seconds: float) -> None:
    await queue.enqueue("slow", number=number, seconds=seconds)


CALLS = Calls(_run, _timed, _slow, opened=_opened)
