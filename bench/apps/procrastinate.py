"""procrastinate: jobs and their states are in PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager

from procrastinate import App, PsycopgConnector

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record

app = App(connector=PsycopgConnector(conninfo=place.DATABASE))


@app.task(name="noop")
async def noop(number: int, payload: str) -> None:
    record(number)


@app.task(name="timed")
async def timed(sent_ns: int) -> None:
    record(0, sent_ns)


@app.task(name="slow")
async def slow(number: int, seconds: float) -> None:
    await place.sleep(number, seconds)


@asynccontextmanager
async def _opened() -> AsyncGenerator[None]:
    async with app.open_async():
        yield


async def _run(number: int) -> None:
    await noop.defer_async(number=number, payload=PAYLOAD)


async def _timed(sent_ns: int) -> None:
    await timed.defer_async(sent_ns=sent_ns)


async def _slow(number: int, seconds: float) -> None:
    await slow.defer_async(number=number, seconds=seconds)


async def _many(numbers: Sequence[int]) -> None:
    await noop.batch_defer_async(*({"number": number, "payload": PAYLOAD} for number in numbers))


CALLS = Calls(_run, _timed, _slow, _many, opened=_opened)
