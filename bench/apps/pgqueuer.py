"""pgqueuer: jobs and the log of their states are in PostgreSQL; payloads are bytes.

`python -m bench.apps.pgqueuer` is one worker, as `pgq run` starts it; that command itself fails with the pinned typer.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import uvloop
from pgqueuer import AsyncpgPoolDriver, Job, PgQueuer, Queries
from pgqueuer.adapters.cli import supervisor

from bench.apps import place
from bench.apps.producer import PAYLOAD, Calls
from bench.records import record


@asynccontextmanager
async def worker() -> AsyncGenerator[PgQueuer]:
    async with asyncpg.create_pool(place.DATABASE) as pool:
        queue = PgQueuer.from_asyncpg_pool(pool)
        for name, entry in (("noop", noop), ("timed", timed), ("slow", slow)):
            queue.entrypoint(name)(entry)
        yield queue


async def noop(job: Job) -> None:
    record(_read(job)["number"])


async def timed(job: Job) -> None:
    record(0, _read(job)["sent_ns"])


async def slow(job: Job) -> None:
    await place.sleep(**_read(job))


def _read(job: Job) -> dict[str, Any]:
    return json.loads(job.payload or b"")


class _Open:
    queries: Queries


@asynccontextmanager
async def _opened() -> AsyncGenerator[None]:
    async with asyncpg.create_pool(place.DATABASE) as pool:
        _Open.queries = Queries(AsyncpgPoolDriver(pool))
        yield


def _payload(**data: object) -> bytes:
    return json.dumps(data).encode()


async def _run(number: int) -> None:
    await _Open.queries.enqueue("noop", _payload(number=number, payload=PAYLOAD))


async def _timed(sent_ns: int) -> None:
    await _Open.queries.enqueue("timed", _payload(sent_ns=sent_ns))


async def _slow(number: int, seconds: float) -> None:
    await _Open.queries.enqueue("slow", _payload(number=number, seconds=seconds))


async def _many(numbers: Sequence[int]) -> None:
    payloads: list[bytes | None] = [_payload(number=number, payload=PAYLOAD) for number in numbers]
    await _Open.queries.enqueue(["noop"] * len(payloads), payloads, [0] * len(payloads))


CALLS = Calls(_run, _timed, _slow, _many, opened=_opened)

if __name__ == "__main__":
    uvloop.run(supervisor.run(worker))
