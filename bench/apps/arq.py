"""arq: results are kept for an hour, the queue is polled twice a second."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import uvloop
from arq import create_pool
from arq.connections import ArqRedis, RedisSettings

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record

asyncio.set_event_loop_policy(uvloop.EventLoopPolicy())
REDIS = RedisSettings.from_dsn(place.URL)
LOGGING = {"version": 1, "disable_existing_loggers": False, "loggers": {"arq": {"level": "WARNING"}}}


async def noop(context: Any, number: int, payload: str) -> None:
    record(number)


async def timed(context: Any, sent_ns: int) -> None:
    record(0, sent_ns)


async def slow(context: Any, number: int, seconds: float) -> None:
    await place.sleep(number, seconds)


class WorkerSettings:
    functions = (noop, timed, slow)
    redis_settings = REDIS


class _Open:
    pool: ArqRedis


@asynccontextmanager
async def _opened() -> AsyncGenerator[None]:
    _Open.pool = await create_pool(REDIS)
    yield
    await _Open.pool.aclose()


async def _run(number: int) -> None:
    await _Open.pool.enqueue_job("noop", number, PAYLOAD)


async def _timed(sent_ns: int) -> None:
    await _Open.pool.enqueue_job("timed", sent_ns)


async def _slow(number: int, seconds: float) -> None:
    await _Open.pool.enqueue_job("slow", number, seconds)


CALLS = Calls(_run, _timed, _slow, opened=_opened)
