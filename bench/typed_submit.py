"""The cost of a typed submit for a producer: `python -m bench.typed_submit`.

The same tasks by `run_task(name=…, kwargs=…)` and by `.submit(…)` of the registered handler, one by one. Processor
time of this process in pairs that take turns: median and middle half.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory

import anyio

from bench.server import server
from holdfast import Handlers, TaskManager, create_broker
from holdfast_config import Settings

PAIRS = 30
TASKS = 300  # of each half of a pair

handlers = Handlers()


@handlers.register("billing.send_statement")
async def send_statement(region: str, copies: int = 1) -> dict[str, int]:
    return {region: copies}


async def plain(manager: TaskManager) -> float:
    """Microseconds of this process a task."""

    async def submit(number: int) -> object:
        return await manager.run_task(name="billing.send_statement", kwargs={"region": "eu", "copies": number})

    return await _spent(submit)


async def typed() -> float:
    async def submit(number: int) -> object:
        return await send_statement.submit("eu", copies=number)

    return await _spent(submit)


async def _spent(submit: Callable[[int], Awaitable[object]]) -> float:
    began = time.process_time()
    for number in range(TASKS):
        await submit(number)
    return (time.process_time() - began) / TASKS * 1e6


async def measure(url: str) -> None:
    async with create_broker(Settings(redis_url=url), handlers=handlers) as broker:
        await plain(broker.manager)
        await typed()
        pairs = [(await plain(broker.manager), await typed()) for _ in range(PAIRS)]
    report("plain", [one for one, _ in pairs])
    report("typed", [two for _, two in pairs])
    report("more, in a pair", [two - one for one, two in pairs])


def report(name: str, values: list[float]) -> None:
    low, middle, high = quantiles(values, n=4)
    print(f"{name:<16} {middle:6.1f} µs a task ({low:.1f} to {high:.1f})")


def main() -> None:
    with TemporaryDirectory(prefix="holdfast-") as folder, server(Path(folder)) as url:
        anyio.run(measure, url, backend_options={"use_uvloop": True})


if __name__ == "__main__":
    main()
