"""A batch is given back after a loss of Redis, from the tasks that PostgreSQL has: its counts, its callback, once."""

from __future__ import annotations

import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Accepted
from holdfast.core.batches import BatchCounts, BatchState
from holdfast.core.delivery import Settle
from tests.ledger.ledger import Ledger
from tests.lua.test_batches import THEN, placed

pytestmark = pytest.mark.anyio


async def finish(books: Ledger, worker: str, *kinds: Settle) -> None:
    """Take the next tasks and settle them so."""
    for kind in kinds:
        [delivery] = await books.redis.take(worker, 1)
        assert await books.redis.settle(worker, delivery, kind) == "OK"


async def submit(books: Ledger, *places: int, expected: int = 4) -> list[Accepted]:
    wanted = [placed(books.redis, place, expected) for place in places]
    return [receipt.accepted for receipt in await books.store.submit_with_options(wanted)]


async def counts(books: Ledger) -> tuple[BatchState, BatchCounts]:
    record = await books.store.batch("b")
    assert record is not None
    return record.state, record.counts


async def begun(books: Ledger) -> None:
    """A batch of four with a callback: one completed, one failed, two open."""
    await books.keep()
    await books.redis.register("a")
    assert await submit(books, THEN, 1, 2, 3, 4) == [Accepted.NEW] * 5
    await finish(books, "a", Settle.COMPLETED, Settle.FAILED)
    await books.keep()


async def test_a_batch_comes_back_with_its_counts_and_goes_on(books: Ledger) -> None:
    await begun(books)
    before = await counts(books)
    await books.lose()
    assert await counts(books) == before == (BatchState.SEALED, BatchCounts(total=4, open=2, completed=1, failed=1))
    assert await books.state("then") == "waiting"
    await books.redis.check()
    await books.redis.register("b")
    await finish(books, "b", Settle.COMPLETED, Settle.COMPLETED)
    assert await counts(books) == (BatchState.ENDED, BatchCounts(total=4, completed=3, failed=1))
    assert await books.state("then") == "submitted"
    await books.redis.check()


async def test_a_callback_that_was_due_is_not_due_again(books: Ledger) -> None:
    await begun(books)
    await finish(books, "a", Settle.COMPLETED, Settle.COMPLETED)
    await books.keep()
    await books.lose()
    assert (await counts(books))[0] == BatchState.ENDED
    assert await books.state("then") == "submitted"
    await books.redis.register("b")
    await finish(books, "b", Settle.COMPLETED)
    assert not await books.redis.take("b")
    await books.redis.check()


async def test_a_callback_whose_beginning_was_not_copied_begins_with_the_rebuild(books: Ledger) -> None:
    """The last end was copied; the callback is in PostgreSQL as it was before."""
    await begun(books)
    row = "holdfast_tasks WHERE queue = $1 AND task_id = 'then'"
    [waiting] = await books.rows(f"SELECT state, seq, record, ties, trail FROM {row}", books.queue)
    await finish(books, "a", Settle.COMPLETED, Settle.COMPLETED)
    await books.keep()
    await books.rows(
        "UPDATE holdfast_tasks SET (state, seq, record, ties, trail) = ($2, $3, $4, $5, $6) "
        "WHERE queue = $1 AND task_id = 'then' RETURNING 1",
        books.queue,
        *waiting.values(),
    )
    await books.lose()
    assert (await counts(books))[0] == BatchState.ENDED
    assert await books.state("then") == "submitted"
    await books.redis.check()


async def test_a_batch_in_a_redis_that_was_set_back_has_its_later_ends_and_retries(books: Ledger) -> None:
    await begun(books)
    picture = await books.picture()
    await books.store.retry("t2", "again")
    await finish(books, "a", Settle.COMPLETED)
    await books.keep()
    before = await counts(books)
    await books.set_back(picture)
    await books.wait_given()
    assert await counts(books) == before
    assert before[1] == BatchCounts(total=4, open=2, completed=2, retried=1)
    assert await books.state("then") == "waiting"


async def test_a_retry_comes_back_in_the_place_of_its_task(books: Ledger) -> None:
    await begun(books)
    assert (await books.store.retry("t2", "again")).task_id == "t2.r1"
    await books.keep()
    before = await counts(books)
    await books.lose()
    assert await counts(books) == before
    assert before[1] == BatchCounts(total=4, open=3, completed=1, retried=1)
    await books.redis.check()


async def test_an_open_batch_is_completed_by_its_producer_after_a_loss(books: Ledger) -> None:
    """Also where nothing of it waited or ran when Redis was lost."""
    await books.keep()
    await books.redis.register("a")
    await submit(books, 1, 2)
    await finish(books, "a", Settle.COMPLETED, Settle.FAILED)
    await books.keep()
    await books.lose()
    assert await submit(books, 1, 2, 3, 4) == [Accepted.DUPLICATE, Accepted.DUPLICATE, Accepted.NEW, Accepted.NEW]
    assert await counts(books) == (BatchState.SEALED, BatchCounts(total=4, open=2, completed=1, failed=1))
    await books.redis.check()


async def test_what_was_accepted_and_not_given_is_of_its_batch_when_it_is(books: Ledger) -> None:
    """The producer of the last task could not reach Redis; a steward gives it."""
    await books.keep()
    manager = TaskManager(books.store, queue=books.queue)
    await manager.run_tasks([TaskSpec(text="x")] * 3, batch="b", then=TaskSpec(text="all"))
    await books.lose()
    assert await counts(books) == (BatchState.SEALED, BatchCounts(total=3, open=3))
    assert await books.state("b.then") == "waiting"
    await books.redis.check()
