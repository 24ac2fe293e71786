"""A queue that is kept in PostgreSQL, with the protocol's own stage around it: `tests.lua.namespace`, and a keeper."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from holdfast.broker.postgres import PostgresStore
from holdfast.core.records import Accepted, Kept
from holdfast_config import RedisSettings
from holdfast_config.postgres_settings import PostgresSettings
from tests.lua.clock import CLOCK
from tests.lua.namespace import Namespace
from tests.lua.operations import submission

ROUNDS = 200


class Ledger:
    """`redis`: the stage of the protocol, whose store knows no ledger, like a worker's; `store`: that of producers."""

    def __init__(self, redis_url: str, postgres_url: str) -> None:
        self.redis = Namespace(redis_url)
        self.queue = self.redis.queue
        settings = RedisSettings(redis_url, 4, 1.0, self.queue)
        self.store = PostgresStore(settings, PostgresSettings(postgres_url), {"clock": CLOCK})

    @property
    def stand(self) -> Namespace:
        """The stage of the protocol, played on the ledger's store."""
        self.redis.store = self.store
        self.redis.remembers = True
        return self.redis

    async def keep(self) -> Kept:
        """Rounds until nothing is left to do."""
        for _ in range(ROUNDS):
            kept = await self.store.keep()
            if not kept.more and not kept.rebuilding:
                return kept
        raise AssertionError("the ledger is never done")

    async def submit(self, *task_ids: str, **more: Any) -> list[Accepted]:
        return await self.store.submit([submission(task_id, self.queue, **more) for task_id in task_ids])

    async def rows(self, query: str, *arguments: object) -> list[Any]:
        async with self.store.database.transaction() as sql:
            found: list[Any] = await sql.fetch(query, *arguments)
            return found

    async def requests(self) -> list[Any]:
        return await self.rows("SELECT * FROM holdfast_requests WHERE queue = $1 ORDER BY id", self.queue)

    async def states(self) -> dict[str, str]:
        """What the ledger believes."""
        rows = await self.rows("SELECT task_id, state FROM holdfast_tasks WHERE queue = $1", self.queue)
        return {row["task_id"]: row["state"] for row in rows}

    async def flush(self) -> None:
        """Redis loses all of this queue, as by FLUSHALL."""
        keys = [key.decode() async for key in self.redis.plain.scan_iter(match=f"*{self.queue}*")]
        if keys:
            await self.redis.do("DEL", *keys)

    async def aclose(self) -> None:
        await self.store.aclose()
        await self.redis.aclose()


@asynccontextmanager
async def ledger(redis_url: str, postgres_url: str) -> AsyncGenerator[Ledger]:
    made = Ledger(redis_url, postgres_url)
    try:
        yield made
    finally:
        await made.aclose()
