"""What was given to Redis and not copied yet, when Redis is set back to just the last event that was copied, is given
again: nothing else shows that it was set back."""

from __future__ import annotations

import anyio
import pytest

from holdfast.core.acceptance import Accepted
from holdfast.core.delivery import Settle
from holdfast.store.ledger.tables import requests
from tests.ledger.ledger import PATIENCE, Ledger

pytestmark = pytest.mark.anyio


async def keep_until_nothing_is_asked(books: Ledger) -> None:
    """Keep, until what came of each request is known."""
    with anyio.fail_after(PATIENCE):
        await books.keep()
        while await books.requests():
            await anyio.sleep(0.05)
            await books.keep()


async def test_tasks_messages_orders_and_changes_come_back(books: Ledger) -> None:
    await books.keep()
    await books.submit("told", "paused")
    await books.keep()
    before = await books.picture()
    await books.submit("new")
    assert await books.message("told", "m2") is Accepted.PENDING
    assert await books.store.pause("paused", "wait") == "suspended"
    await books.store.pause_lane("slow", "why")
    await books.set_back(before)
    await keep_until_nothing_is_asked(books)
    assert await books.states() == {"told": "submitted", "paused": "suspended", "new": "submitted"}
    assert await books.redis.do("HGET", books.redis.key("closed"), "slow") is not None
    assert (await books.store.ledger()).losses == 0
    await books.redis.register("a")
    told, new = await books.redis.take("a")
    assert (told.task_id, new.task_id) == ("told", "new")
    await books.redis.settle("a", told, Settle.COMPLETED)
    [again] = await books.redis.take("a")
    assert b'"m2"' in again.operation


async def test_what_redis_has_is_given_once(books: Ledger) -> None:
    """Time passes before the ledger reads what came of it: it was not forgotten."""
    await books.keep()
    await books.submit("t")
    async with books.store.database.transaction() as sql:
        await sql.execute("UPDATE holdfast_requests SET given = given - interval '1 minute'")
    await books.keep()
    assert await books.requests() == []
    assert (await books.redis.do("HGET", books.redis.key("counters"), "accepted")) == b"1"


async def test_what_was_given_a_moment_ago_is_left_to_its_event(books: Ledger) -> None:
    await books.keep()
    await books.submit("t")
    before = [row["given"] for row in await books.requests()]
    assert before != [None]
    async with books.store.database.transaction() as sql:
        await requests.give_lost_again(sql, books.queue, 1.0)
    assert [row["given"] for row in await books.requests()] == before
