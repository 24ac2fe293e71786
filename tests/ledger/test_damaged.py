"""A task that somebody has damaged in Redis does not keep others from being copied; what was known of it stays."""

from __future__ import annotations

import msgspec
import pytest
from structlog.testing import capture_logs

from holdfast.errors import StoreRefusedError
from tests.ledger.ledger import Ledger
from tests.lua.test_damaged import DAMAGES, Damage

NOT_PUT_BACK = "a task is damaged in PostgreSQL or in Redis: it is not put back"

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_copied(books: Ledger, damage: Damage) -> None:
    await books.keep()
    await books.redis.submit("known")
    await books.keep()
    await books.redis.submit("bad", "good")
    await damage(books.redis, "bad")
    await damage(books.redis, "known")
    with capture_logs() as logs:
        await books.keep()
    assert "bad" in [
        line["task"] for line in logs if line["event"] == "a task is damaged in Redis: it is not copied to PostgreSQL"
    ]
    await books.lose()
    entries = await books.redis.entries()
    assert sorted(name for name in ("bad", "good", "known") if any(name.encode() in raw for raw in entries)) == [
        "good",
        "known",
    ]


@pytest.mark.parametrize("order", ["cancel", "pause", "resume"])
async def test_an_order_for_one_whose_key_is_of_another_type_is_refused_and_dropped(books: Ledger, order: str) -> None:
    await books.keep()
    await books.redis.do("SET", books.redis.key("task:t1"), "x")
    with pytest.raises(StoreRefusedError, match="task:t1 is a string"):
        await getattr(books.store, order)("t1", "asked")
    assert await books.requests() == []


@pytest.mark.parametrize("damage", DAMAGES)
async def test_others_are_put_back_beside_a_damaged_record_in_redis(books: Ledger, damage: Damage) -> None:
    await books.keep()
    await books.redis.submit("bad", "good")
    await books.keep()
    kept = {key: value for key, value in (await books.picture()).items() if key.endswith((b":task:bad", b":op:bad"))}
    await books.set_back(kept)
    await damage(books.redis, "bad")
    await books.wait_given()
    assert await books.redis.state("good") == "submitted"


async def test_others_are_put_back_beside_a_row_without_a_lane(books: Ledger) -> None:
    """Somebody has changed it in the database."""
    await books.keep()
    await books.redis.submit("bad", "good")
    await books.keep()
    [row] = await books.rows("SELECT record FROM holdfast_tasks WHERE queue = $1 AND task_id = 'bad'", books.queue)
    record = msgspec.msgpack.decode(row["record"])
    del record["lane"]
    change = "UPDATE holdfast_tasks SET record = $2 WHERE queue = $1 AND task_id = 'bad'"
    await books.rows(change, books.queue, msgspec.msgpack.encode(record))
    with capture_logs() as logs:
        await books.lose()
    assert "bad" in [line["task"] for line in logs if line["event"] == NOT_PUT_BACK]
    assert (await books.redis.state("good"), await books.redis.store.get("bad")) == ("submitted", None)


async def test_what_was_half_put_back_is_put_back_whole(books: Ledger) -> None:
    """An error between the writes has left a record that no index has. It comes back, and is not copied before."""
    await books.keep()
    await books.submit("late", delay_ms=3_600_000)
    await books.submit("good")
    await books.wait_given()
    record = books.redis.key("task:late")
    await books.redis.do("HSET", record, "restoring", "1", "name", "half")
    await books.redis.do("HDEL", record, "state")
    await books.redis.do("ZREM", books.redis.key("due"), "late")
    await books.redis.do("DEL", books.redis.key("meta"))
    await books.wait_given()
    assert (await books.redis.state("good"), await books.redis.state("late")) == ("submitted", "delayed")
    assert await books.redis.do("ZSCORE", books.redis.key("due"), "late") is not None
    assert await books.redis.do("HMGET", record, "restoring", "name") == [None, None]


async def test_what_was_half_put_back_is_not_copied(books: Ledger) -> None:
    await books.keep()
    await books.submit("late", delay_ms=3_600_000)
    await books.wait_given()
    await books.redis.do("HSET", books.redis.key("task:late"), "restoring", "1")
    dumps = await books.store.redis_ledger.dump(["late"])
    assert (dumps.tasks, list(dumps.damaged)) == ((), ["late"])
