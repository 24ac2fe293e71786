"""taskiq on a stream, which redelivers; messages are acknowledged once the result is saved."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from taskiq_redis import RedisAsyncResultBackend, RedisStreamBroker

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record

RESULT_SECONDS = 3600
broker = RedisStreamBroker(place.URL).with_result_backend(
    RedisAsyncResultBackend(place.URL, result_ex_time=RESULT_SECONDS)
)


@broker.task(task_name="noop")
async def noop(number: int, payload: str) -> None:
    record(number)


@broker.task(task_name="timed")
async def timed(sent_ns: int) -> None:
    record(0, sent_ns)


@broker.task(task_name="slow")
async def slow(number: int, seconds: float) -> None:
    await place.sleep(number, seconds)


@asynccontextmanager
async def _opened() -> AsyncGenerator[None]:
    await broker.startup()
    yield
    await broker.shutdown()


async def _run(number: int) -> None:
    await noop.kiq(number, PAYLOAD)


async def _timed(sent_ns: int) -> None:
    await timed.kiq(sent_ns)


async def _slow(number: int, seconds: float) -> None:
    await slow.kiq(number, seconds)


CALLS = Calls(_run, _timed, _slow, opened=_opened)
