"""The cost of rollups for each task: `python -m bench.rollup_cost`.

For the worker: noting what a run took, and sending that once a second, at 30,000 tasks a second. For the server: pulls
that settle 50 tasks, with and without counting. Processor time in pairs that take turns: median and middle half.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import quantiles
from typing import Any, cast

import anyio

from bench.server import server
from holdfast.core.acceptance import Submission
from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.worker_records import Introduction
from holdfast.store.redis import RedisStore
from holdfast.store.redis.scripts import text
from holdfast.worker.context import WorkerContext
from holdfast.worker.samples import Samples
from holdfast_config import RedisSettings

PAIRS = 20
TASKS = 30_000  # of one second of a busy pool
AT_ONCE, CALLS = 50, 40
COUNTING = "  if lane then add_figure("

Cost = Callable[[], Awaitable[float]]


class _Store:
    """Takes samples and does nothing with them."""

    async def add_samples(self, *given: object) -> None:
        pass


class _Retries:
    async def call(self, name: str, work: Callable[[], Awaitable[object]]) -> None:
        await work()


class _Context:
    store, retries, incarnation = _Store(), _Retries(), "w"


async def noting(*, notes: bool) -> float:
    """Microseconds of this process a task."""
    samples = Samples(cast("WorkerContext", _Context()))
    delivery = Delivery("t", "1:w:1", "lane", b"{}" * 60, 1, 1, 0, 0, None, None, solo=False)
    report = Settlement("t", "1:w:1", Settle.COMPLETED, b'"done"')
    began = time.process_time()
    for number in range(TASKS):
        seconds = (number + 1) * 1e-6
        if notes:
            samples.add(delivery, "mail.send", report, seconds)
    await samples.send()
    return (time.process_time() - began) / TASKS * 1e6


async def settling(url: str, *, counts: bool) -> float:
    """Microseconds of the server a task."""
    queue = "counted" if counts else "uncounted"
    replaced = {} if counts else {"rollup": text("rollup").replace(COUNTING, "  if false then add_figure(")}
    store = RedisStore(RedisSettings(url=url, queue=queue), replaced)
    try:
        await store.register(Introduction(queue, "host", "boot", 1, 0))
        number, ended, spent = 1, list[Settlement](), 0.0
        for call in range(CALLS):
            await store.submit([_task(f"t{call}-{n}", queue) for n in range(AT_ONCE)])
            before = await _busy(store)
            pulled = await store.pull(queue, number, AT_ONCE, [queue], ended)
            spent += await _busy(store) - before
            ended = [Settlement(each.task_id, each.claim, Settle.COMPLETED) for each in pulled.deliveries]
            number += 1
        return spent / (CALLS - 1) / AT_ONCE
    finally:
        await store.obliterate("", 100_000, force=True)
        await store.aclose()


def _task(task_id: str, lane: str) -> Submission:
    return Submission(task_id, "m", "d", b'{"words": 3}', lane)


async def _busy(store: RedisStore) -> float:
    """Microseconds that the server has spent in scripts."""
    connection: Any = store.connection
    report = (await connection.command("INFO", "commandstats")).decode()
    line = next((each for each in report.splitlines() if each.startswith("cmdstat_evalsha:")), "usec=0,")
    return float(line.partition("usec=")[2].partition(",")[0])


async def compared(name: str, with_it: Cost, without: Cost) -> None:
    differences = [await with_it() - await without() for _ in range(PAIRS)]
    low, middle, high = quantiles(differences, n=4)
    print(f"{name}: {middle:.2f} µs a task (middle half {low:.2f} to {high:.2f}, {PAIRS} pairs)", flush=True)


async def main(url: str) -> None:
    await compared("worker", lambda: noting(notes=True), lambda: noting(notes=False))
    await compared("server", lambda: settling(url, counts=True), lambda: settling(url, counts=False))


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="holdfast-") as folder, server(Path(folder)) as started:
        anyio.run(main, started)
