"""Applications with a lifespan, for worker processes. They write to a list on their test's server."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, field

import anyio

from holdfast import Handlers
from tests.worker.telling import tell, wait


@dataclass
class Pool:
    used: list[str] = field(default_factory=list[str])


whole = Handlers()


@whole.lifespan
async def open_pool() -> AsyncIterator[Pool]:
    pool = Pool()
    tell("lifespan", "open")
    yield pool
    tell("lifespan", f"closed after {' '.join(pool.used)}")


@whole.default
async def use(messages: list[dict[str, str]], task_pool: Pool) -> str:
    task_pool.used.append(messages[-1]["content"])
    return str(len(task_pool.used))


slow_to_close = Handlers()


@slow_to_close.lifespan
async def never_closes() -> AsyncIterator[Pool]:
    yield Pool()
    tell("lifespan", "closing")
    try:
        await anyio.sleep_forever()
    finally:
        tell("lifespan", "cancelled")


@slow_to_close.default
async def nothing() -> None: ...


raises = Handlers()


@raises.lifespan
async def no_database() -> AsyncIterator[None]:
    raise ConnectionError("no database")
    yield


raises.default(wait)

raises_in_thread = Handlers()


@raises_in_thread.lifespan
def no_disk() -> Iterator[None]:
    raise OSError("no disk")
    yield


raises_in_thread.default(wait)

without_yield = Handlers()


@without_yield.lifespan
async def forgets() -> AsyncIterator[None]:
    if not without_yield:
        yield


without_yield.default(wait)

hangs = Handlers()


@hangs.lifespan
async def waits() -> AsyncIterator[None]:
    await anyio.sleep_forever()
    yield


hangs.default(wait)

hangs_in_thread = Handlers()


@hangs_in_thread.lifespan
def waits_in_thread() -> Iterator[None]:
    time.sleep(3600)
    yield


hangs_in_thread.default(wait)
