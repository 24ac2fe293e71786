"""Changes after a task's end (a retry, a removal, a webhook) hold, though Redis is set back to before them."""

from __future__ import annotations

import time

import pytest

from holdfast.core.acceptance import Accepted, SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.core.tasks import RetryAnswer
from holdfast.errors import StoreUnavailableError
from holdfast.store.ledger import PostgresStore
from holdfast.store.ledger.tables import tasks
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings
from tests.ledger.ledger import Ledger
from tests.ledger.server import Server
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio

DAY_MS = 86_400_000


async def begun(books: Ledger, *task_ids: str) -> None:
    await books.keep()
    await books.redis.register("a")
    await books.submit(*task_ids)
    await books.keep()


async def end(books: Ledger, task_id: str, kind: Settle = Settle.COMPLETED) -> None:
    [delivery] = await books.redis.take("a", 1)
    assert delivery.task_id == task_id
    assert await books.redis.settle("a", delivery, kind, result=b'"out"') == "OK"
    await books.keep()


async def removals(books: Ledger) -> list[str]:
    rows = await books.rows("SELECT task_id FROM holdfast_removals WHERE queue = $1 ORDER BY 1", books.queue)
    return [row["task_id"] for row in rows]


async def require_gone(books: Ledger, task_id: str) -> None:
    """Nobody knows it, in Redis and in PostgreSQL, and nobody runs it."""
    assert await books.redis.do("KEYS", f"{{{books.queue}}}:*:{task_id}") == []
    assert task_id not in await books.states()
    assert await books.store.get(task_id) is None
    await books.redis.register("later")
    assert [each.task_id for each in await books.redis.take("later")] == []
    await books.redis.check()


async def test_a_retry_is_not_forgotten(books: Ledger) -> None:
    await begun(books, "t")
    await end(books, "t", Settle.EXHAUSTED)
    kept = await books.picture()
    assert await books.store.retry("t", "again") == RetryAnswer("new", "t.r1")
    await books.keep()
    await end(books, "t.r1")
    await books.set_back(kept)
    await books.keep()
    assert await books.store.retry("t", "again") == RetryAnswer("again", "t.r1")
    assert (await books.store.dead_letters(10)).tasks == ()
    assert (await books.redis.task("t")).retried_as == "t.r1"
    record = await books.rows("SELECT record FROM holdfast_tasks WHERE queue = $1 AND task_id = 't'", books.queue)
    assert b"retried_as" in record[0]["record"]
    await books.redis.register("b")
    assert await books.redis.take("b") == []
    await books.redis.check()


async def test_a_retry_is_not_forgotten_by_a_second_set_back(books: Ledger) -> None:
    """The numbers of Redis went back, too: the higher epoch of the ledger makes what comes later the later one."""
    await begun(books, "t", "u")
    await end(books, "t", Settle.FAILED)
    await end(books, "u", Settle.FAILED)
    first = await books.picture()
    await books.store.retry("t", "again")
    await books.keep()
    await books.set_back(first)
    await books.keep()
    second = await books.picture()
    await books.store.retry("u", "again")
    await books.keep()
    await books.set_back(second)
    await books.keep()
    assert await books.store.retry("u", "again") == RetryAnswer("again", "u.r1")
    assert await books.store.retry("t", "again") == RetryAnswer("again", "t.r1")
    await books.redis.check()


async def test_an_older_moment_does_not_replace_a_later_one(books: Ledger) -> None:
    await begun(books, "t")
    await end(books, "t", Settle.EXHAUSTED)
    older = await books.store.redis_ledger.dump(["t"])
    await books.store.retry("t", "again")
    await books.keep()
    async with books.store.database.transaction() as sql:
        await tasks.keep(sql, books.queue, older)
    [row] = await books.rows("SELECT record, dead FROM holdfast_tasks WHERE queue = $1 AND task_id = 't'", books.queue)
    assert b"retried_as" in row["record"]
    assert row["dead"] == ""


async def test_a_redis_that_is_set_back_to_before_an_earlier_rebuild_is_rebuilt(books: Ledger) -> None:
    """It holds an earlier epoch of this ledger: it is no other database's."""
    await begun(books, "t")
    first = await books.picture()
    await end(books, "t")
    await books.set_back(first)
    await books.keep()
    await books.submit("u")
    await books.keep()
    await books.set_back(first)
    await books.keep()
    assert (await books.store.ledger()).losses == 2
    assert await books.states() == {"t": "completed", "u": "submitted"}
    await books.redis.register("b")
    assert [each.task_id for each in await books.redis.take("b")] == ["u"]
    await books.redis.check()


@pytest.mark.parametrize("kind", [Settle.COMPLETED, Settle.FAILED])
async def test_a_removed_task_stays_removed(books: Ledger, kind: Settle) -> None:
    await begun(books, "t")
    await end(books, "t", kind)
    kept = await books.picture()
    assert await books.store.forget_tasks(["t"]) == 1
    await books.keep()
    await books.set_back(kept)
    await books.keep()
    await require_gone(books, "t")
    assert await removals(books) == ["t"]


@pytest.mark.parametrize("state", ["submitted", "working", "input-required", "delayed"])
async def test_a_removed_task_that_had_not_ended_at_the_earlier_moment_is_not_run_again(
    books: Ledger, state: str
) -> None:
    await begun(books, "t")
    if state == "delayed":
        await books.store.cancel("t", "no")
        await books.store.forget_tasks(["t"])
        await books.store.submit([submission("t", books.queue, delay_ms=DAY_MS)])
        await books.keep()
    elif state != "submitted":
        [delivery] = await books.redis.take("a", 1)
        if state == "input-required":
            await books.redis.settle("a", delivery, Settle.INPUT_REQUIRED, result=b'"?"')
        await books.keep()
    assert await books.state("t") == state
    kept = await books.picture()
    await books.store.cancel("t", "no")
    await books.keep()
    if state == "working":
        await books.redis.settle("a", delivery, Settle.COMPLETED, result=b'"out"')
    assert await books.store.forget_tasks(["t"]) == 1
    await books.keep()
    await books.set_back(kept)
    await books.keep()
    await require_gone(books, "t")


async def test_another_life_of_a_removed_id_is_admitted_and_outlives_a_set_back(books: Ledger) -> None:
    """Also where Redis has the first life again, and where it has that one waiting."""
    await begun(books, "t")
    waiting = await books.picture()
    await end(books, "t")
    ended = await books.picture()
    await books.store.forget_tasks(["t"])
    await books.redis.advance(1)
    assert await books.submit("t", text="second") == [Accepted.NEW]
    await end(books, "t")
    created = (await books.redis.task("t")).created_ms
    for kept in (ended, waiting):
        await books.set_back(kept)
        await books.keep()
        assert (await books.redis.task("t")).created_ms == created
        assert await books.states() == {"t": "completed"}
        await books.redis.register("b")
        assert await books.redis.take("b") == []
        await books.redis.check()


async def test_another_life_that_waits_comes_back_and_runs(books: Ledger) -> None:
    await begun(books, "t")
    await end(books, "t")
    kept = await books.picture()
    await books.store.forget_tasks(["t"])
    await books.redis.advance(1)
    await books.submit("t", text="second")
    await books.keep()
    await books.set_back(kept)
    await books.wait_given()
    assert await books.states() == {"t": "submitted"}
    await books.redis.register("a")
    await end(books, "t")
    assert await books.states() == {"t": "completed"}
    await books.redis.check()


async def test_a_purged_dead_letter_stays_removed(books: Ledger) -> None:
    await begun(books, "t")
    await end(books, "t", Settle.EXHAUSTED)
    kept = await books.picture()
    assert await books.store.purge_dead(["t"]) == 1
    await books.set_back(kept)
    await books.keep()
    await require_gone(books, "t")


async def test_a_removal_whose_process_died_is_copied(books: Ledger) -> None:
    await begun(books, "t")
    await end(books, "t")
    kept = await books.picture()
    assert await books.redis.store.forget_tasks(["t"]) == 1  # and nothing was written to PostgreSQL
    await books.keep()
    assert await books.states() == {}
    await books.set_back(kept)
    await books.keep()
    await require_gone(books, "t")


async def test_a_task_that_only_postgres_had_stays_removed(books: Ledger) -> None:
    await begun(books, "t")
    await end(books, "t")
    kept = await books.picture()
    await books.redis.advance(10)
    assert await books.redis.store.trim(0, 10) == 1
    assert await books.store.forget_tasks(["t"]) == 1
    await books.store.pause_lane(books.queue, "so that an event is lost")
    await books.keep()
    await books.set_back(kept)
    await books.keep()
    await require_gone(books, "t")


async def test_a_removal_is_known_to_a_redis_that_was_emptied_and_set_back(books: Ledger) -> None:
    """It is set back while it is rebuilt: nobody knows by how much."""
    await begun(books, "t")
    await end(books, "t")
    kept = await books.picture()
    await books.store.forget_tasks(["t"])
    await books.keep()
    await books.flush()
    while not await books.store.redis_ledger.rebuilding():
        await books.store.keep()
    await books.set_back(kept)
    await books.keep()
    await require_gone(books, "t")


async def test_what_has_ended_does_not_run_again_where_redis_was_set_back_while_it_was_rebuilt(books: Ledger) -> None:
    await begun(books, "t")
    kept = await books.picture()
    await end(books, "t")
    await books.flush()
    while not await books.store.redis_ledger.rebuilding():
        await books.store.keep()
    await books.set_back(kept)
    await books.keep()
    assert (await books.redis.task("t")).state == "completed"
    await books.redis.register("b")
    assert await books.redis.take("b") == []
    await books.redis.check()


async def test_a_task_whose_retention_is_over_leaves_no_removal(books: Ledger) -> None:
    await begun(books, "t")
    await end(books, "t")
    await books.redis.advance(10)
    assert await books.store.trim(0, 10) == 1
    await books.keep()
    assert await removals(books) == []
    assert await books.states() == {"t": "completed"}


async def test_a_removal_is_kept_as_long_as_an_ended_task(books: Ledger, postgres_server: Server) -> None:
    await begun(books, "t")
    await end(books, "t")
    await books.store.forget_tasks(["t"])
    await books.keep()
    await books.store.trim(DAY_MS, 10)
    assert await removals(books) == ["t"]
    settings = RedisSettings(books.redis.store.url, 4, books.queue)
    async with books.store.database.transaction() as sql:
        await sql.execute("UPDATE holdfast_removals SET seen_ms = $1", round(time.time() * 1000) - 2 * DAY_MS)
    brief = PostgresStore(settings, PostgresSettings(postgres_server.url("tasks"), keep=DAY_MS / 1000))
    await brief.trim(DAY_MS, 10)
    assert await removals(books) == []
    await brief.aclose()


async def test_nothing_that_has_ended_is_changed_in_a_redis_that_was_set_back(books: Ledger) -> None:
    """Nobody has noticed it yet: it might not know that the task was retried."""
    await begun(books, "t")
    await end(books, "t", Settle.FAILED)
    kept = await books.picture()
    await books.store.retry("t", "again")
    await books.keep()
    await books.set_back(kept)
    with pytest.raises(StoreUnavailableError, match="is being rebuilt"):
        await books.store.retry("t", "again")
    with pytest.raises(StoreUnavailableError, match="is being rebuilt"):
        await books.store.purge_dead(["t"])
    await books.keep()
    assert await books.store.retry("t", "again") == RetryAnswer("again", "t.r1")


async def test_a_webhook_that_was_told_after_the_end_is_not_told_again(books: Ledger) -> None:
    await books.keep()
    await books.redis.register("a")
    hook = SubmitOptions(webhook="https://example.org/done")
    await books.store.submit_with_options([submission("t", books.queue, options=hook)])
    await end(books, "t")
    kept = await books.picture()
    [notice], _ = await books.store.take_notices(1, 60_000)
    await books.store.notice_done(notice.name)
    await books.keep()
    await books.set_back(kept)
    await books.keep()
    assert (await books.store.take_notices(10, 60_000))[0] == []
    assert await books.state("t") == "completed"
    await books.redis.check()


async def test_without_a_ledger_nothing_is_numbered(books: Ledger) -> None:
    await books.redis.register("a")
    await books.redis.submit("t")
    [delivery] = await books.redis.take("a", 1)
    await books.redis.settle("a", delivery, Settle.FAILED)
    assert (await books.redis.store.retry("t", "again")).word == "new"
    assert await books.redis.do("HEXISTS", books.redis.key("task:t"), "amended") == 0
