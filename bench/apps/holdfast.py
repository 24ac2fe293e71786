"""This project: registered coroutines, one of them with a pydantic model, as an application has them."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from functools import cache
from typing import Any
from uuid import uuid4

import redis.asyncio
from pydantic import BaseModel

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record
from holdfast import Handlers, TaskManager, TaskSpec, create_broker

QUEUE: str = place.OPTIONS.get("queue", "bindu:tasks")
handlers = Handlers()


class Statement(BaseModel):
    number: int
    region: str
    lines: list[str]


@handlers.register("noop")
async def noop(number: int, payload: str) -> None:
    record(number)


@handlers.register("timed")
async def timed(sent_ns: int) -> None:
    record(0, sent_ns)


@handlers.register("slow")
async def slow(number: int, seconds: float) -> None:
    await place.sleep(number, seconds)


@handlers.register("typed")
async def typed(statement: Statement) -> None:
    record(statement.number)


class _Open:
    manager: TaskManager


@asynccontextmanager
async def _opened() -> AsyncGenerator[None]:
    async with create_broker(redis_url=place.URL, queue_name=QUEUE) as broker:
        _Open.manager = broker.manager
        yield


@cache
def _client() -> Any:
    return redis.asyncio.from_url(place.URL)


async def _run(number: int) -> None:
    await _Open.manager.run_task(name="noop", kwargs={"number": number, "payload": PAYLOAD})


async def _timed(sent_ns: int) -> None:
    await _Open.manager.run_task(name="timed", kwargs={"sent_ns": sent_ns})


async def _slow(number: int, seconds: float) -> None:
    await _Open.manager.run_task(name="slow", kwargs={"number": number, "seconds": seconds})


async def _typed(number: int) -> None:
    statement: dict[str, object] = {"number": number, "region": "eu", "lines": ["one", "two"]}
    await _Open.manager.run_task(name="typed", kwargs={"statement": statement})


async def _many(numbers: Sequence[int]) -> None:
    await _Open.manager.run_tasks(
        [TaskSpec(name="noop", kwargs={"number": number, "payload": PAYLOAD}) for number in numbers]
    )


async def _foreign(sent_ns: int) -> None:
    await _client().rpush(QUEUE, _entry("timed", {"sent_ns": sent_ns}))


def _entry(name: str, data: dict[str, object]) -> str:
    """The JSON that a program in any language pushes."""
    message = {"message_id": str(uuid4()), "parts": [{"kind": "data", "data": {"name": name, "kwargs": data}}]}
    return json.dumps({"operation": "run", "params": {"task_id": str(uuid4()), "message": message}})


CALLS = Calls(_run, _timed, _slow, _many, _foreign, _typed, _opened)
