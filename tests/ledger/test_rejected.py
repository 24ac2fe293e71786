"""A task that was accepted while Redis was away, and that Redis cannot take, keeps a record: rejected, and why."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from holdfast import TaskRefused
from holdfast.client.manager import TaskManager
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.acceptance import Accepted, Receipt, Submission, SubmitOptions
from holdfast.core.delivery import Settle
from holdfast.core.task_states import State
from holdfast.errors import StoreUnavailableError
from holdfast.store.ledger import PostgresStore
from holdfast.why.gather import explain
from holdfast_config import RedisSettings, Settings
from holdfast_config.store_settings import PostgresSettings
from tests.ledger.ledger import Ledger
from tests.ledger.server import Server
from tests.lua.operations import submission
from tests.lua.test_batches import placed

pytestmark = pytest.mark.anyio

NOWHERE = "unix:///nowhere/redis.sock"
LONG_AGO = "UPDATE holdfast_requests SET created = created - interval '1 minute' WHERE queue = $1"


@pytest.fixture
async def away(books: Ledger, postgres_server: Server) -> AsyncIterator[PostgresStore]:
    """A producer that cannot reach Redis."""
    await books.keep()  # the ledger follows its Redis
    store = PostgresStore(RedisSettings(NOWHERE, 4, books.queue), PostgresSettings(postgres_server.url("tasks")))
    yield store
    await store.aclose()


@pytest.fixture
def manager(books: Ledger) -> TaskManager:
    """A producer of the same queue, whose Redis is there."""
    return TaskManager(books.store, queue=books.queue, retries=SubmitRetries())


def unique(books: Ledger, task_id: str) -> Submission:
    return submission(task_id, books.queue, options=SubmitOptions(unique="k"))


def behind(books: Ledger, task_id: str, parent: str) -> Submission:
    return submission(task_id, books.queue, options=SubmitOptions(after=(parent,)))


async def accept(store: PostgresStore, *submissions: Submission) -> None:
    receipts = await store.submit_with_options(submissions)
    assert receipts == [Receipt(Accepted.NEW, one.task_id) for one in submissions]


async def back(books: Ledger) -> None:
    """Redis is back, and the steward has given it what waited, and has read what came of it."""
    async with books.store.database.transaction() as sql:
        await sql.execute(LONG_AGO, books.queue)
    await books.wait_given()
    assert await books.requests() == []


async def test_of_two_tasks_with_one_unique_key_the_second_is_rejected(
    books: Ledger, away: PostgresStore, manager: TaskManager
) -> None:
    await accept(away, unique(books, "a"))
    await accept(away, unique(books, "b"), behind(books, "c", "b"))
    await back(books)
    first, second = await manager.get_task("a"), await manager.get_task("b")
    assert (first.state, second.state, second.duplicate_of) == (State.SUBMITTED, State.REJECTED, "a")
    with pytest.raises(TaskRefused, match="task b rejected: TaskRefused: its unique key is held by task a") as raised:
        await manager.wait("b", raise_failed=True)
    assert (raised.value.word, raised.value.duplicate_of) == ("duplicate", "a")
    assert (await manager.get_task("c")).reason == "parent b was rejected"
    told = await explain(books.store, books.queue, "b", Settings())
    assert "rejected" in told["now"]
    assert "its unique key is held by task a" in told["now"]
    assert "which was away when the task was accepted, could not take it" in told["timeline"][-1]["text"]
    assert (told["refused"], told["duplicate_of"]) == ("duplicate", "a")
    await books.redis.check()


async def test_a_child_of_a_task_that_never_was_is_rejected(
    books: Ledger, away: PostgresStore, manager: TaskManager
) -> None:
    await accept(away, behind(books, "c", "nobody"))
    await back(books)
    record = await manager.wait("c")
    assert (record.state, record.refused) == (State.REJECTED, "no-parent")
    assert await manager.retry_task("c") == "c.r1"
    assert await books.state("c.r1") == State.SUBMITTED


async def test_its_producer_may_ask_again_before_and_after(
    books: Ledger, away: PostgresStore, manager: TaskManager
) -> None:
    """The second call reaches Redis, and must not undo what the first has promised."""
    await accept(away, unique(books, "a"), unique(books, "b"))
    async with books.store.database.transaction() as sql:  # the first was given meanwhile, the second not yet
        await sql.execute("DELETE FROM holdfast_requests WHERE queue = $1 AND task_id = 'a'", books.queue)
    await books.store.submit_with_options([unique(books, "a")])
    for _ in range(2):
        assert await books.store.submit_with_options([unique(books, "b")]) == [Receipt(Accepted.DUPLICATE, "b")]
        assert (await manager.get_task("b")).duplicate_of == "a"
        await books.keep()
    assert await books.requests() == []


async def test_a_task_that_redis_has_is_not_dropped_because_its_second_submission_is_refused(books: Ledger) -> None:
    """The same task again, under the id of its batch with another digest, before the ledger has read the first."""
    await books.keep()
    first, second = placed(books.redis, 1), placed(books.redis, 1, digest="d2")
    assert [each.accepted for each in await books.store.submit_with_options([first])] == [Accepted.NEW]
    assert [each.accepted for each in await books.store.submit_with_options([second])] == [Accepted.OTHER_BATCH]
    await books.lose()
    assert await books.state("t1") == State.SUBMITTED
    assert await books.redis.reasons() == []


async def test_a_producer_that_hears_the_answer_is_told_and_nothing_is_kept(
    books: Ledger, manager: TaskManager
) -> None:
    await books.keep()
    assert await books.store.submit_with_options([unique(books, "a"), unique(books, "b")]) == [
        Receipt(Accepted.NEW, "a"),
        Receipt(Accepted.DUPLICATE, "a"),
    ]
    await books.keep()
    assert await books.store.get("b") is None
    assert await books.requests() == []


async def test_what_was_rejected_stays_so_when_redis_loses_everything(books: Ledger, away: PostgresStore) -> None:
    await accept(away, unique(books, "a"), unique(books, "b"))
    await back(books)
    await books.lose()
    assert await books.state("a") == State.SUBMITTED
    record = await books.store.get("b")
    assert record is not None
    assert (record.state, record.duplicate_of) == (State.REJECTED, "a")


async def test_a_task_that_was_given_and_lost_is_rejected_where_its_key_is_held_by_then(
    books: Ledger, manager: TaskManager
) -> None:
    """Redis loses the end of the first task and the coming of the second, which nobody had copied."""
    await books.keep()
    await accept(books.store, unique(books, "a"))
    await books.keep()
    await books.redis.register("w")
    [delivery] = await books.redis.take("w")
    assert await books.redis.settle("w", delivery, Settle.COMPLETED) == "OK"
    await accept(books.store, unique(books, "b"))
    await books.flush()
    await back(books)
    assert (await manager.get_task("b")).duplicate_of == "a"


async def test_a_damaged_key_of_the_queue_is_mended_and_what_needs_it_is_given(
    books: Ledger, away: PostgresStore
) -> None:
    await accept(away, unique(books, "a"))
    await books.redis.do("SET", books.redis.key("unique"), "no hash")
    await back(books)
    assert await books.states() == {"a": "submitted"}


async def test_what_waits_for_one_at_which_redis_fails_waits_with_it(books: Ledger, away: PostgresStore) -> None:
    """Its parent is accepted, and Redis does not know it yet: rejected, it would be lost when the parent is given."""
    of_batch = placed(books.redis, 1)
    await accept(away, of_batch, behind(books, "child", of_batch.task_id))
    await accept(away, behind(books, "grandchild", "child"))
    assert await away.submit([submission("b", books.queue)]) == [Accepted.NEW]
    await books.redis.do("SET", books.redis.key("batch:b"), "no hash")
    for _ in range(2):
        async with books.store.database.transaction() as sql:
            await sql.execute(LONG_AGO, books.queue)
        await books.keep()
    assert await books.states() == {"b": "submitted"}
    assert [row["task_id"] for row in await books.requests()] == [of_batch.task_id, "child", "grandchild"]
    await books.redis.do("DEL", books.redis.key("batch:b"))
    await back(books)
    assert await books.states() == {
        of_batch.task_id: "submitted",
        "b": "submitted",
        "child": "waiting",
        "grandchild": "waiting",
    }


async def test_what_waits_for_one_that_was_put_off_before_waits_with_it(books: Ledger, away: PostgresStore) -> None:
    """Its parent was put off a moment ago and is not given again yet."""
    await accept(away, unique(books, "a"))
    await accept(away, behind(books, "child", "a"))
    await books.redis.do("SET", books.redis.key("unique"), "no hash")
    async with books.store.database.transaction() as sql:
        await sql.execute(f"{LONG_AGO} AND task_id = 'child'", books.queue)
        await sql.execute(f"{LONG_AGO.replace('-', '+')} AND task_id = 'a'", books.queue)
    for _ in range(2):
        await books.keep()
    assert await books.states() == {}
    await books.redis.do("DEL", books.redis.key("unique"))
    await back(books)
    assert await books.states() == {"a": "submitted", "child": "waiting"}


async def test_a_task_of_a_damaged_batch_waits_until_that_is_mended(books: Ledger, away: PostgresStore) -> None:
    of_batch = placed(books.redis, 1)
    await accept(away, of_batch, behind(books, "child", of_batch.task_id))
    assert await away.submit([submission("b", books.queue)]) == [Accepted.NEW]
    await books.redis.do("SET", books.redis.key("batch:b"), "no hash")
    async with books.store.database.transaction() as sql:
        await sql.execute(LONG_AGO, books.queue)
    for _ in range(2):
        await books.keep()
    assert await books.states() == {"b": "submitted"}
    await books.redis.do("DEL", books.redis.key("batch:b"))
    await back(books)
    assert await books.states() == {of_batch.task_id: "submitted", "b": "submitted", "child": "waiting"}


async def test_a_cancel_is_given_though_a_key_of_the_queue_was_damaged(books: Ledger, away: PostgresStore) -> None:
    await books.submit("a")
    await books.keep()
    with pytest.raises(StoreUnavailableError, match="is kept in PostgreSQL"):
        await away.cancel("a", "asked")
    await books.redis.do("SET", books.redis.key("finished"), "no set")
    await back(books)
    assert (await books.states())["a"] == "canceled"
    assert await books.requests() == []


async def test_a_cancel_of_a_damaged_task_waits_and_holds_up_no_other(books: Ledger, away: PostgresStore) -> None:
    await books.submit("a")
    await books.keep()
    for task_id in ("a", "b"):
        with pytest.raises(StoreUnavailableError, match="is kept in PostgreSQL"):
            await away.cancel(task_id, "asked")
    assert await away.submit([submission("c", books.queue)]) == [Accepted.NEW]
    await books.redis.do("HSET", books.redis.key("task:a"), "turn", "x")
    async with books.store.database.transaction() as sql:
        await sql.execute(LONG_AGO, books.queue)
    for _ in range(2):
        await books.keep()
    assert (await books.states())["c"] == "submitted"
    assert {row["task_id"] for row in await books.requests()} == {"a"}


async def test_a_message_that_its_task_does_not_take_any_more_is_set_aside(books: Ledger, away: PostgresStore) -> None:
    """Whether the ledger knows that the task has ended, or Redis alone."""
    await books.submit("t", "u")
    await books.keep()
    assert await away.message(submission("t", books.queue, "m2")) is Accepted.PENDING
    assert await away.submit([submission("u", books.queue, "m2")]) == [Accepted.PENDING]
    await books.redis.store.cancel("t", "asked")
    await books.redis.store.cancel("u", "asked")
    async with books.store.database.transaction() as sql:
        await sql.execute(LONG_AGO, books.queue)
    await books.wait_given()
    assert sorted(await books.redis.reasons()) == ["task t is canceled", "task u is canceled"]
    assert [row["refused"] for row in await books.requests()] == ["terminal", "terminal"]
