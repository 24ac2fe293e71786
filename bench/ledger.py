"""Storage in PostgreSQL in numbers: `python -m bench.ledger`.

A PostgreSQL of its own, with its log synced to disk as usual, and a Redis that keeps nothing. First how many tasks a
second are copied once they have ended, by one steward's rounds with nothing else going on. Then how far behind the copy
is while a pool works at a steady rate: from the end of each task, by its record, to the commit that has its outcome.
Then how long an emptied Redis takes until all that was submitted is back, and it is followed again.
`--tasks 10000 --seconds 10` is a short one.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
import uvloop
from redis import Redis

from bench import work
from bench.ending import run
from bench.environ import environ
from bench.machine import quietly
from bench.pool import folder, pool
from bench.producing import PATIENCE, QUEUE
from bench.records import records
from bench.report import Target, finish, percentile, table
from bench.server import server
from holdfast import TaskManager
from holdfast.core.delivery import Settle, Settlement
from holdfast.core.task_states import State
from holdfast.core.worker_records import Introduction
from holdfast.store.ledger import PostgresStore, migrate
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings
from tests.ledger.server import Server, postgres

BATCH = 100
WARM = 1000  # tasks before that
COPIED = 20_000  # tasks: with their events the stream holds them all
RATE = 200  # tasks a second
SYNCED = ("fsync=on", "shared_buffers=256MB", "track_commit_timestamp=on")
_LAGS = """
SELECT extract(epoch FROM pg_xact_commit_timestamp(r.xmin)) * 1000 - t.finished_ms AS lag
FROM holdfast_turns r JOIN holdfast_tasks t USING (queue, task_id) WHERE r.result IS NOT NULL"""


@dataclass(frozen=True, slots=True)
class Measured:
    """Tasks a second, milliseconds, seconds."""

    copied: float
    lags: list[float]
    submitted: float
    back: float


def main() -> int:
    asked = _arguments()
    found, others = quietly(lambda: uvloop.run(_measure(asked.tasks, asked.seconds)))
    late = [percentile(found.lags, share) for share in (0.5, 0.9, 0.99, 1.0)]
    table(
        f"others: {others:.2f} cores",
        ("", "figure"),
        [
            ("copied, tasks a second", found.copied),
            ("submitted, tasks a second, in batches", found.submitted),
            (f"behind at {RATE} tasks a second, p50, ms", late[0]),
            ("p99, ms", late[2]),
            (f"{asked.tasks:,} submitted tasks back, s", found.back),
        ],
    )
    numbers = {
        "copied_per_second": round(found.copied),
        "submitted_per_second": round(found.submitted),
        "behind_ms": [round(ms) for ms in late],
        "back_seconds": round(found.back, 1),
        "others": round(others, 2),
    }
    return finish([Target(f"p99 behind at {RATE} tasks a second, ms", late[2], 1000)], numbers)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", type=int, default=100_000)
    parser.add_argument("--seconds", type=int, default=30)
    return parser.parse_args()


async def _measure(tasks: int, seconds: int) -> Measured:
    with postgres(*SYNCED) as database:
        return Measured(
            await _copying(database), await _following(database, seconds), *(await _rebuilding(database, tasks))
        )


async def _copying(database: Server) -> float:
    with folder() as place, server(place) as url:
        async with _kept(database, "copying", url) as store, _plain(url) as redis:
            await _keep(store)
            await _copied(store, redis, range(WARM))
            database.statement("ANALYZE", "copying")  # as the server does by itself, within a minute
            return COPIED / await _copied(store, redis, range(WARM, WARM + COPIED))


async def _copied(store: PostgresStore, redis: RedisStore, numbers: range) -> float:
    """Seconds that it took to copy these tasks, which had ended by then."""
    await TaskManager(redis, queue=QUEUE).run_tasks([work.spec(number) for number in numbers])
    await _work(redis, f"worker-{numbers.start}", len(numbers))
    began = time.perf_counter()
    await _keep(store)
    return time.perf_counter() - began


async def _following(database: Server, seconds: int) -> list[float]:
    with folder() as place, server(place) as url, records() as seen:
        async with _kept(database, "following", url) as store:
            kept = {**environ(seen), "STORAGE_TYPE": "postgres", "DATABASE_URL": database.url("following")}
            with pool("bench.handlers:noop", 2, place, kept, "--redis-url", url):
                await _steadily(TaskManager(store, queue=QUEUE), seconds)
                return await _lags(store, RATE * seconds)


async def _steadily(manager: TaskManager, seconds: int) -> None:
    began = time.monotonic()
    for number in range(RATE * seconds):
        await anyio.sleep(max(0.0, began + number / RATE - time.monotonic()))
        await manager.run_tasks([work.spec(number)])


async def _lags(store: PostgresStore, tasks: int) -> list[float]:
    """Of all these tasks, when they are all there."""
    with anyio.fail_after(PATIENCE):
        while True:
            async with store.database.transaction() as sql:
                rows = await sql.fetch(_LAGS)
            if len(rows) == tasks:
                return [float(row["lag"]) for row in rows]
            await anyio.sleep(0.2)


async def _rebuilding(database: Server, tasks: int) -> tuple[float, float]:
    with folder() as place, server(place) as url:
        async with _kept(database, "rebuilding", url) as store:
            await _keep(store)
            manager = TaskManager(store, queue=QUEUE)
            await manager.run_tasks([work.spec(number) for number in range(BATCH)])
            await _keep(store)
            database.statement("ANALYZE", "rebuilding")
            began = time.perf_counter()
            for start in range(BATCH, tasks, BATCH):
                await manager.run_tasks([work.spec(number) for number in range(start, start + BATCH)])
            submitted = tasks / (time.perf_counter() - began)
            await _keep(store)
            with Redis(unix_socket_path=url.removeprefix("unix://")) as plain:
                plain.flushall()
            began = time.perf_counter()
            await _keep(store)
            back = time.perf_counter() - began
            assert (await store.counts()).states[State.SUBMITTED] == tasks
            return submitted, back


async def _keep(store: PostgresStore) -> None:
    """A steward's rounds, until nothing is left to do."""
    while (kept := await store.keep()).more or kept.rebuilding:
        pass


async def _work(redis: RedisStore, name: str, tasks: int) -> None:
    """As a worker does it, that has nothing else to do."""
    await redis.register(Introduction(name, os.uname().nodename, "boot", os.getpid(), 0))
    settlements: list[Settlement] = []
    done = request = 0
    while done < tasks or settlements:
        request += 1
        pulled = await redis.pull(name, request, BATCH, [QUEUE], settlements)
        settlements = [
            Settlement(delivery.task_id, delivery.claim, Settle.COMPLETED, result=b'"done"')
            for delivery in pulled.deliveries
        ]
        done += len(settlements)


@asynccontextmanager
async def _kept(database: Server, name: str, url: str) -> AsyncGenerator[PostgresStore]:
    """A producer's store, whose tables are in a database of this name."""
    database.statement(f"CREATE DATABASE {name}")
    store = PostgresStore(_redis(url), PostgresSettings(database.url(name)))
    try:
        await migrate.upgrade(store.database)
        yield store
    finally:
        await store.aclose()


@asynccontextmanager
async def _plain(url: str) -> AsyncGenerator[RedisStore]:
    store = RedisStore(_redis(url))
    try:
        yield store
    finally:
        await store.aclose()


def _redis(url: str) -> RedisSettings:
    return RedisSettings(url, 10, QUEUE)


if __name__ == "__main__":
    run(main)
