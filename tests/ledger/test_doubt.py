"""A worker finds a sign that Redis was set back: nobody claims until the steward has confirmed it, or rebuilt it."""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import Any

import pytest

from holdfast.core.delivery import Settle, Standing
from holdfast.errors import LedgerUnavailableError
from holdfast.store.ledger.replicate import Replication
from tests.ledger.ledger import Ledger
from tests.lua.operations import run

pytestmark = pytest.mark.anyio

TEN_MINUTES_MS = 600_000


async def stand_of(books: Ledger, *task_ids: str) -> None:
    await books.keep()
    await books.redis.register("busy", "idle")
    await books.submit(*task_ids)
    await books.keep()


async def complete(books: Ledger, worker: str, number: int) -> None:
    for _ in range(number):
        [delivery] = await books.redis.take(worker, 1)
        assert await books.redis.settle(worker, delivery, Settle.COMPLETED, result=b'"out"') == "OK"


async def hints(books: Ledger, worker: str) -> list[bytes]:
    return list(await books.redis.do("LRANGE", books.redis.key(f"control:{worker}"), 0, -1))


async def test_what_had_ended_and_was_copied_is_not_claimed_again(books: Ledger) -> None:
    """The busy worker's request leaps; the idle one has asked for nothing since that moment."""
    await stand_of(books, "t1", "t2", "open")
    kept = await books.picture()
    await complete(books, "busy", 2)
    await books.keep()
    await books.set_back(kept)
    assert (await books.redis.pull("busy", 10)).standing is Standing.DOUBTED
    assert (await books.redis.pull("idle", 10)).standing is Standing.DOUBTED
    await books.keep()
    assert (await books.store.ledger()).losses == 1
    assert [each.task_id for each in await books.redis.take("idle")] == ["open"]
    await books.keep()
    assert (await books.states())["t1"] == "completed"
    await books.redis.check()


async def test_a_redis_that_has_lost_nothing_is_confirmed(books: Ledger) -> None:
    await stand_of(books, "t")
    await books.redis.do("HSET", books.redis.key("worker:busy"), "request", "7")
    answer = await books.redis.pull("busy", 10, request=9)
    assert (answer.standing, answer.deliveries) == (Standing.DOUBTED, ())
    await books.keep()
    assert (await books.store.ledger()).losses == 0
    assert await hints(books, "busy") == [b"look"]  # so it asks again at once
    assert await hints(books, "idle") == [b"look"]
    answer = await books.redis.pull("busy", 10, request=10)
    assert (answer.standing, [each.task_id for each in answer.deliveries]) == (Standing.OK, ["t"])
    await books.redis.check()


async def test_a_request_that_leaps_is_no_usual_call(books: Ledger) -> None:
    await stand_of(books)
    await books.redis.push(run("foreign"))
    await books.redis.do("HSET", books.redis.key("worker:busy"), "request", "7")
    assert (await books.redis.pull("busy", 10, request=9)).standing is Standing.DOUBTED


async def test_what_has_ended_is_settled_while_nobody_claims(books: Ledger) -> None:
    await stand_of(books, "t")
    [delivery] = await books.redis.take("busy", 1)
    await books.redis.store.reconnected("idle")
    assert await books.redis.settle("busy", delivery, Settle.COMPLETED) == "OK"
    assert await books.state("t") == "completed"


async def test_after_a_reconnect_a_worker_waits_for_the_steward(books: Ledger) -> None:
    await stand_of(books, "t1", "t2")
    kept = await books.picture()
    await complete(books, "busy", 1)
    await books.keep()
    await books.set_back(kept)
    await books.redis.store.reconnected("idle")
    assert (await books.redis.pull("idle", 10)).standing is Standing.DOUBTED
    await books.keep()
    assert [each.task_id for each in await books.redis.take("idle")] == ["t2"]


async def test_a_worker_that_was_forgotten_goes_on_with_its_number(books: Ledger) -> None:
    """UNKNOWN alone is no sign: its next request does not leap."""
    await stand_of(books, "t1", "t2")
    await complete(books, "busy", 1)
    await books.redis.do("DEL", books.redis.key("worker:busy"))
    await books.redis.do("ZREM", books.redis.key("workers"), "busy")
    assert (await books.redis.pull("busy", 10)).standing is Standing.UNKNOWN
    await books.redis.register("busy")
    answer = await books.redis.pull("busy", 10)
    assert (answer.standing, [each.task_id for each in answer.deliveries]) == (Standing.OK, ["t2"])


async def test_nobody_claims_before_the_turns_that_go_on_are_back(books: Ledger) -> None:
    """A turn that was copied must not run again while the pages of the rebuild have not reached its task."""
    await stand_of(books, "talk")
    kept = await books.picture()
    await books.message("talk", "m2")
    await complete(books, "busy", 1)
    await books.keep()
    await books.set_back(kept)
    claimed = await books.redis.take("busy", 1)
    while (await books.store.keep()).rebuilding:
        claimed += await books.redis.take("busy", 1)
    claimed += await books.redis.take("busy", 1)
    assert [(each.task_id, each.turn) for each in claimed] == [("talk", 2)]
    await books.redis.check()


async def test_nobody_claims_where_redis_was_set_back_while_it_was_rebuilt(books: Ledger) -> None:
    await stand_of(books, "t", "open")
    kept = await books.picture()
    await complete(books, "busy", 1)
    await books.keep()
    await books.flush()
    while not await books.store.redis_ledger.rebuilding():
        await books.store.keep()
    await books.set_back(kept)
    claimed = await books.redis.take("busy", 2)
    while (await books.store.keep()).rebuilding:
        claimed += await books.redis.take("idle", 2)
    claimed += await books.redis.take("idle", 2)
    assert [each.task_id for each in claimed] == ["open"]
    await books.redis.check()


async def test_events_that_were_trimmed_unread_keep_nobody_from_work(books: Ledger) -> None:
    """Nothing was lost: everything is read once more, while work goes on."""
    await stand_of(books, "t1", "t2")
    await complete(books, "busy", 1)
    await books.redis.do("XTRIM", books.redis.key("events"), "MAXLEN", 0)
    await books.submit("t3")
    while (await books.store.keep()).rebuilding:
        answer = await books.redis.pull("busy", 0)
        assert answer.standing is Standing.OK
    assert len(await books.redis.take("busy")) == 1


async def test_while_postgres_is_away_the_steward_compares_with_what_it_knew(books: Ledger) -> None:
    class Away:
        """The database, which can be away."""

        away = False
        url = books.store.database.url

        @asynccontextmanager
        async def transaction(self) -> Any:
            if self.away:
                raise LedgerUnavailableError("PostgreSQL cannot be reached")
            async with books.store.database.transaction() as sql:
                yield sql

    await stand_of(books, "t")
    database: Any = Away()
    steward = Replication(books.queue, database, books.store.redis_ledger)
    await steward.round()
    database.away = True
    await books.redis.store.reconnected("idle")
    assert (await books.redis.pull("idle", 1)).standing is Standing.DOUBTED
    with pytest.raises(LedgerUnavailableError):
        await steward.round()
    assert [each.task_id for each in await books.redis.take("idle", 1)] == ["t"]
    kept = await books.picture()
    await books.redis.advance(1)
    await books.redis.store.cancel("t", "no")
    database.away = False
    await steward.round()
    database.away = True
    await books.set_back(kept)
    await books.redis.store.reconnected("busy")
    with pytest.raises(LedgerUnavailableError):
        await steward.round()
    assert (await books.redis.pull("busy", 1)).standing is Standing.DOUBTED


async def test_a_queue_that_no_steward_looks_at_works_again_after_ten_minutes(books: Ledger) -> None:
    await stand_of(books, "t")
    await books.redis.store.reconnected("idle")
    await books.redis.advance(TEN_MINUTES_MS - 1000)
    assert (await books.redis.pull("idle", 1)).standing is Standing.DOUBTED
    await books.redis.advance(1000)
    await books.redis.register("new")
    assert [each.task_id for each in await books.redis.take("new", 1)] == ["t"]


async def test_without_a_ledger_nobody_waits(books: Ledger) -> None:
    await books.redis.register("a")
    await books.redis.submit("t")
    await books.redis.store.reconnected("a")
    answer = await books.redis.pull("a", 1, request=5)
    assert (answer.standing, [each.task_id for each in answer.deliveries]) == (Standing.OK, ["t"])
    await books.redis.check()
