"""A queue that is kept in PostgreSQL, with the protocol's own stage around it: `tests.lua.namespace`, and a keeper."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio
from redis.exceptions import RedisError

from holdfast.core.acceptance import Accepted
from holdfast.core.counts import KeptTask
from holdfast.core.delivery import Delivery, Holding
from holdfast.store.ledger import PostgresStore
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings
from tests.lua.clock import CLOCK
from tests.lua.namespace import Namespace
from tests.lua.operations import submission

Picture = dict[bytes, tuple[bytes, int]]  # each key, with its value and the ms until it expires (0: never)

PATIENCE = 30  # seconds; reached only by a test that fails


class Ledger:
    """`redis`: the stage of the protocol, whose store knows no ledger, like a worker's; `store`: that of producers."""

    def __init__(self, redis_url: str, postgres_url: str, queue: str | None = None) -> None:
        self.redis = Namespace(redis_url, queue=queue)
        self.queue = self.redis.queue
        settings = RedisSettings(redis_url, 4, self.queue)
        self.store = PostgresStore(settings, PostgresSettings(postgres_url), {"clock": CLOCK})

    @property
    def stand(self) -> Namespace:
        """The stage of the protocol, played on the ledger's store."""
        self.redis.store = self.store
        self.redis.remembers = True
        return self.redis

    async def keep(self) -> KeptTask:
        """Rounds until nothing is left to do."""
        with anyio.fail_after(PATIENCE):
            while True:
                kept = await self.store.keep()
                if not kept.more and not kept.rebuilding:
                    return kept

    async def submit(self, *task_ids: str, **more: Any) -> list[Accepted]:
        return await self.store.submit([submission(task_id, self.queue, **more) for task_id in task_ids])

    async def message(self, task_id: str, message_id: str, text: str = "more") -> Accepted:
        return (await self.store.submit([submission(task_id, self.queue, message_id, text=text)]))[0]

    async def state(self, task_id: str) -> str:
        """As producers are told."""
        record = await self.store.get(task_id)
        assert record is not None, f"no task {task_id}"
        return str(record.state)

    def holding(self, delivery: Delivery, checkpoint: bytes) -> Holding:
        return Holding(delivery.task_id, delivery.claim, checkpoint=checkpoint)

    async def rows(self, query: str, *arguments: object) -> list[Any]:
        async with self.store.database.transaction() as sql:
            found: list[Any] = await sql.fetch(query, *arguments)
            return found

    async def requests(self) -> list[Any]:
        return await self.rows("SELECT * FROM holdfast_requests WHERE queue = $1 ORDER BY id", self.queue)

    async def states(self) -> dict[str, str]:
        """The state in the ledger."""
        rows = await self.rows("SELECT task_id, state FROM holdfast_tasks WHERE queue = $1", self.queue)
        return {row["task_id"]: row["state"] for row in rows}

    async def flush(self) -> None:
        """Redis loses all of this queue, as by FLUSHALL."""
        keys = [key.decode() async for key in self.redis.plain.scan_iter(match=f"*{self.queue}*")]
        if keys:
            await self.redis.do("DEL", *keys)

    async def lose(self) -> None:
        """Redis loses everything, and the steward has seen to it."""
        await self.flush()
        await self.wait_given()

    async def wait_given(self) -> None:
        """Keep, until nothing waits for Redis any more."""
        with anyio.fail_after(PATIENCE):
            await self.keep()
            while (await self.store.ledger()).waiting:
                await anyio.sleep(0.05)
                await self.keep()
            await self.keep()  # what came of it

    async def picture(self) -> Picture:
        """All that Redis has, to set it back to."""
        plain = self.redis.plain
        keys = [key async for key in plain.scan_iter(match=f"*{self.queue}*")]
        return {key: (await plain.dump(key), max(0, await plain.pttl(key))) for key in keys}

    async def set_back(self, picture: Picture) -> None:
        await self.flush()
        for key, (value, left_ms) in picture.items():
            await self.redis.do("RESTORE", key, left_ms, value)

    async def aclose(self) -> None:
        await self.store.aclose()
        await self.redis.aclose()


@asynccontextmanager
async def ledger(redis_url: str, postgres_url: str, queue: str | None = None) -> AsyncGenerator[Ledger]:
    made = Ledger(redis_url, postgres_url, queue)
    try:
        yield made
        await made.redis.require_history()
    finally:
        with suppress(RedisError):  # a server that the test has ended
            await made.redis.forget_keys()
        await made.aclose()
