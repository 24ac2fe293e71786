"""How many messages may wait for a task is decided where they are accepted; what was accepted is never refused."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from holdfast.core.acceptance import Accepted
from holdfast.core.delivery import Settle
from holdfast.store.ledger import PostgresStore
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings
from tests.ledger.ledger import Ledger
from tests.ledger.server import Server
from tests.lua.clock import CLOCK
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio

MOST = 3
LONG_AGO = "UPDATE holdfast_requests SET created = created - interval '1 minute' WHERE queue = $1"


async def not_given(*_: Any) -> None:
    """As if Redis did not answer this producer."""


@asynccontextmanager
async def away(books: Ledger, server_url: str, postgres_server: Server) -> AsyncGenerator[PostgresStore]:
    store = PostgresStore(RedisSettings(server_url, 4, books.queue), PostgresSettings(postgres_server.url("tasks")))
    store.redis_ledger.give = not_given  # type: ignore[method-assign]
    try:
        yield store
    finally:
        await store.aclose()


@pytest.fixture
async def producer(books: Ledger, server_url: str, postgres_server: Server) -> AsyncIterator[PostgresStore]:
    """A producer where so few messages may wait."""
    settings = replace(RedisSettings(server_url, 4, books.queue), max_pending_messages=MOST)
    store = PostgresStore(settings, PostgresSettings(postgres_server.url("tasks")), {"clock": CLOCK})
    yield store
    await store.aclose()


async def send(producer: PostgresStore, books: Ledger, *messages: str) -> list[Accepted]:
    return await producer.submit([submission("t1", books.queue, message) for message in messages])


async def waiting(books: Ledger) -> list[str]:
    items = await books.redis.do("LRANGE", books.redis.key("pending:t1"), 0, -1)
    return [item.split(b"|")[0].decode() for item in items]


async def requests(producer: PostgresStore, books: Ledger) -> int:
    async with producer.database.transaction() as sql:
        count: int = await sql.fetchval("SELECT count(*) FROM holdfast_requests WHERE queue = $1", books.queue)
        return count


async def test_one_message_too_many_is_refused_when_it_is_accepted(producer: PostgresStore, books: Ledger) -> None:
    await books.keep()
    answers = await send(producer, books, "m0", "m1", "m2", "m3", "m4")
    assert answers == [Accepted.NEW, *[Accepted.PENDING] * MOST, Accepted.FULL]
    await books.keep()  # the ledger has seen those that wait
    assert await send(producer, books, "m5", "m1") == [Accepted.FULL, Accepted.DUPLICATE]
    assert await waiting(books) == ["m1", "m2", "m3"]
    assert await requests(producer, books) == 0


async def test_when_one_has_had_its_turn_the_next_is_accepted(producer: PostgresStore, books: Ledger) -> None:
    await books.keep()
    await send(producer, books, "m0", "m1", "m2", "m3")
    await books.redis.register("a")
    [delivery] = await books.redis.take("a")
    await books.redis.settle("a", delivery, Settle.COMPLETED)
    await books.keep()
    assert await send(producer, books, "m4", "m5") == [Accepted.PENDING, Accepted.FULL]


async def test_what_was_accepted_while_redis_was_away_is_not_dropped_for_the_bound(
    producer: PostgresStore, books: Ledger, server_url: str, postgres_server: Server
) -> None:
    """Meanwhile others have filled up what may wait: it waits all the same."""
    await books.keep()
    await send(producer, books, "m0", "m1")
    await books.keep()

    async with away(books, server_url, postgres_server) as alone:
        assert await send(alone, books, "m2") == [Accepted.PENDING]
    await books.redis.store.limit_messages(1)
    async with books.store.database.transaction() as sql:
        await sql.execute(LONG_AGO, books.queue)
    await books.keep()
    assert await waiting(books) == ["m1", "m2"]
    await books.keep()
    async with producer.database.transaction() as sql:
        refused = await sql.fetchval(
            "SELECT count(*) FROM holdfast_requests WHERE refused IS NOT NULL AND queue = $1", books.queue
        )
    assert (refused, await requests(producer, books)) == (0, 0)
