"""Batches: each task is counted once, however it ends; the callback begins once, when the batch is sealed and all have
ended, whatever comes first."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Accepted, BatchPlace, Receipt, Submission, SubmitOptions
from holdfast.core.batches import NO_BATCH, BatchCounts, BatchState, DeliveredBatch
from holdfast.core.delivery import Settle
from holdfast.core.worker_records import WorkerKind
from holdfast.errors import UnreadableRecordError
from tests.lua.namespace import Namespace
from tests.lua.operations import run, submission

pytestmark = pytest.mark.anyio

THEN = 0  # the place of the callback


def placed(
    space: Namespace, place: int, expected: int = 2, task_id: str = "", digest: str = "d1", **options: Any
) -> Submission:
    """A task of batch `b`, as its producer submits it."""
    name = task_id or ("then" if place == THEN else f"t{place}")
    batch = BatchPlace("b", place, expected, digest)
    return submission(name, space.queue, options=SubmitOptions(batch=batch, **options))


async def submit(space: Namespace, *submissions: Submission) -> list[Accepted]:
    return [receipt.accepted for receipt in await space.store.submit_with_options(submissions)]


async def whole(space: Namespace) -> None:
    """A batch of two tasks with a callback, and worker `a`."""
    await space.register("a")
    assert await submit(space, *(placed(space, place) for place in (THEN, 1, 2))) == [Accepted.NEW] * 3


async def counts(space: Namespace) -> BatchCounts:
    record = await space.store.batch("b")
    assert record is not None
    return record.counts


async def state(space: Namespace) -> BatchState:
    record = await space.store.batch("b")
    assert record is not None
    return record.state


async def finish(space: Namespace, *kinds: Settle) -> None:
    """Take the next tasks and settle them so."""
    taken = await space.take("a", len(kinds))
    for delivery, kind in zip(taken, kinds, strict=True):
        assert await space.settle("a", delivery, kind) == "OK"


async def test_the_callback_begins_when_the_last_task_has_ended(space: Namespace) -> None:
    await whole(space)
    assert await space.state("then") == "waiting"
    await finish(space, Settle.COMPLETED)
    await space.check()
    assert (await state(space), await space.state("then")) == (BatchState.SEALED, "waiting")
    await finish(space, Settle.FAILED)
    assert (await state(space), await space.state("then")) == (BatchState.ENDED, "submitted")
    assert await counts(space) == BatchCounts(total=2, completed=1, failed=1)
    await space.check()
    await finish(space, Settle.COMPLETED)
    assert await space.state("then") == "completed"
    await space.check()


async def test_a_batch_whose_tasks_end_before_its_last_one_comes_ends_with_that_one(space: Namespace) -> None:
    await space.register("a")
    await submit(space, placed(space, THEN), placed(space, 1))
    await finish(space, Settle.COMPLETED)
    assert (await state(space), await space.state("then")) == (BatchState.OPEN, "waiting")
    await space.check()
    await submit(space, placed(space, 2))
    assert await state(space) == BatchState.SEALED
    await finish(space, Settle.COMPLETED)
    assert (await state(space), await space.state("then")) == (BatchState.ENDED, "submitted")
    await space.check()


async def test_a_callback_that_comes_after_the_end_of_its_batch_begins_at_once(space: Namespace) -> None:
    """As where requests are carried out in another order than they were made."""
    await space.register("a")
    await submit(space, placed(space, 2), placed(space, 1))
    await finish(space, Settle.COMPLETED, Settle.COMPLETED)
    assert await state(space) == BatchState.ENDED
    assert await submit(space, placed(space, THEN)) == [Accepted.NEW]
    assert await space.state("then") == "submitted"
    await space.check()


async def test_a_batch_of_no_tasks_is_a_callback_that_is_due(space: Namespace) -> None:
    await space.register("a")
    await submit(space, placed(space, THEN, 0))
    assert (await state(space), await space.state("then")) == (BatchState.ENDED, "submitted")
    await finish(space, Settle.COMPLETED)
    await space.check()


async def test_a_callback_may_wait_for_other_tasks_besides(space: Namespace) -> None:
    await space.register("a")
    await space.submit("p")
    await submit(space, placed(space, THEN, 1, after=("p",)), placed(space, 1, 1))
    [first, second] = await space.take("a", 2)
    await space.settle("a", second, Settle.COMPLETED)
    assert (await state(space), await space.state("then")) == (BatchState.ENDED, "waiting")
    await space.check()
    await space.settle("a", first, Settle.COMPLETED)
    await space.store.promote(10)
    assert await space.state("then") == "submitted"
    await space.check()


async def test_a_paused_callback_begins_when_it_is_resumed(space: Namespace) -> None:
    await whole(space)
    await space.store.pause("then", "asked")
    await finish(space, Settle.COMPLETED, Settle.COMPLETED)
    assert await space.state("then") == "suspended"
    await space.check()
    await space.store.resume("then", "asked")
    assert await space.state("then") == "submitted"


async def test_a_canceled_callback_stays_canceled(space: Namespace) -> None:
    await whole(space)
    await space.store.cancel("then", "asked")
    before = await space.do("HGETALL", space.key("task:then"))
    await finish(space, Settle.COMPLETED, Settle.COMPLETED)
    assert (await state(space), await space.state("then")) == (BatchState.ENDED, "canceled")
    assert await space.do("HGETALL", space.key("task:then")) == before
    await space.check()


async def test_the_same_tasks_again_are_harmless_at_any_time(space: Namespace) -> None:
    await whole(space)
    again = [placed(space, place) for place in (THEN, 1, 2)]
    assert await submit(space, *again) == [Accepted.DUPLICATE] * 3
    await finish(space, Settle.COMPLETED, Settle.COMPLETED)
    assert await submit(space, *again) == [Accepted.DUPLICATE] * 3
    await space.store.forget_tasks(["t1", "t2"])
    assert await submit(space, *again) == [Accepted.DUPLICATE] * 3
    assert await counts(space) == BatchCounts(total=2, completed=2)
    await space.check()


async def test_a_batch_id_with_other_tasks_is_refused_and_nothing_is_written(space: Namespace) -> None:
    await whole(space)
    before = await space.store.snapshot()
    others = [placed(space, place, task_id=f"x{place}", digest="d2") for place in (THEN, 1, 2)]
    assert await submit(space, *others) == [Accepted.OTHER_BATCH] * 3
    assert await space.store.snapshot() == before


async def test_a_task_that_is_there_already_is_not_taken_into_a_batch(space: Namespace) -> None:
    await space.submit("t2")
    assert await submit(space, placed(space, 1), placed(space, 2)) == [Accepted.NEW, Accepted.TAKEN]
    assert (await state(space), (await counts(space)).total) == (BatchState.OPEN, 1)
    await space.check()


async def canceled(space: Namespace) -> str:
    await space.store.cancel("t1", "asked")
    return "canceled"


async def canceled_while_it_runs(space: Namespace) -> str:
    [delivery] = await space.take("a", 1)
    await space.store.cancel("t1", "asked")
    assert await space.settle("a", delivery, Settle.COMPLETED) == "LOST"
    return "canceled"


async def completed_late(space: Namespace) -> str:
    [delivery] = await space.take("a", 1)
    await space.crash("a")
    assert await space.settle("a", delivery, Settle.COMPLETED) == "OK"
    assert await space.settle("a", delivery, Settle.COMPLETED) == "ALREADY"
    await space.register("a2")
    return "completed"


async def completed_after_a_retry(space: Namespace) -> str:
    [delivery] = await space.take("a", 1)
    await space.settle("a", delivery, Settle.RETRY, delay_ms=10)
    assert (await counts(space)).open == 1
    await space.advance(10)
    await space.store.promote(10)
    await finish(space, Settle.COMPLETED)
    return "completed"


async def completed_after_a_question(space: Namespace) -> str:
    await finish(space, Settle.INPUT_REQUIRED)
    assert (await counts(space)).open == 1
    await space.message("t1", "m2")
    await finish(space, Settle.COMPLETED)
    return "completed"


async def cleared(space: Namespace) -> str:
    await space.store.clear(space.queue, 10)
    return "canceled"


async def rejected(space: Namespace) -> str:
    await finish(space, Settle.REJECTED)
    return "rejected"


async def exhausted(space: Namespace) -> str:
    await finish(space, Settle.EXHAUSTED)
    return "failed"


ENDS = [
    *(canceled, canceled_while_it_runs, completed_late, completed_after_a_retry, completed_after_a_question),
    *(cleared, rejected, exhausted),
]


@pytest.mark.parametrize("end", ENDS)
async def test_a_task_counts_once_however_it_ends(space: Namespace, end: Callable[[Namespace], Awaitable[str]]) -> None:
    await space.register("a")
    await submit(space, placed(space, THEN, 1), placed(space, 1, 1))
    how = await end(space)
    assert await counts(space) == replace(BatchCounts(total=1), **{how: 1})
    assert (await state(space), await space.state("then")) == (BatchState.ENDED, "submitted")
    await space.check()


async def test_a_task_that_ends_its_workers_counts_once_as_failed(space: Namespace) -> None:
    await submit(space, placed(space, THEN, 1), placed(space, 1, 1))
    for life in range(4):
        await space.register(f"w{life}", kind=WorkerKind.SINGLE)
        assert [one.task_id for one in await space.take(f"w{life}", 1)] == ["t1"]
        assert await counts(space) == BatchCounts(total=1, open=1)
        await space.crash(f"w{life}")
        await space.advance(60_000)
        await space.store.promote(10)
    assert await space.state("t1") == "failed"
    assert await counts(space) == BatchCounts(total=1, failed=1)
    assert await space.state("then") == "submitted"
    await space.check()


async def test_an_expired_task_counts_as_canceled(space: Namespace) -> None:
    await submit(space, placed(space, THEN, 1), placed(space, 1, 1, expires_in_ms=100))
    await space.advance(100)
    await space.store.promote(10)
    assert await counts(space) == BatchCounts(total=1, canceled=1)
    assert await space.state("then") == "submitted"
    await space.check()


async def test_a_task_whose_parent_in_the_batch_fails_counts_as_failed(space: Namespace) -> None:
    await space.register("a")
    await submit(space, placed(space, THEN), placed(space, 1), placed(space, 2, after=("t1",)))
    await finish(space, Settle.FAILED)
    await space.store.promote(10)
    assert await counts(space) == BatchCounts(total=2, failed=2)
    await space.check()


async def test_a_cancel_that_came_before_its_task_counts(space: Namespace) -> None:
    await space.store.cancel("t1", "asked")
    await submit(space, placed(space, THEN, 1), placed(space, 1, 1))
    assert await counts(space) == BatchCounts(total=1, canceled=1)
    assert await space.state("then") == "submitted"
    await space.check()


async def test_a_retry_takes_the_place_of_its_task(space: Namespace) -> None:
    await whole(space)
    await finish(space, Settle.EXHAUSTED)
    assert await counts(space) == BatchCounts(total=2, open=1, failed=1)
    await space.store.retry("t1", "again")
    assert await counts(space) == BatchCounts(total=2, open=2, retried=1)
    await space.check()
    await finish(space, Settle.COMPLETED)
    assert await space.state("then") == "waiting"
    await finish(space, Settle.COMPLETED)
    assert await counts(space) == BatchCounts(total=2, completed=2, retried=1)
    assert await space.state("then") == "submitted"
    assert await submit(space, placed(space, 1)) == [Accepted.DUPLICATE]
    rows, more = await space.store.batch_tasks("b", 0, 10)
    assert ([(row.place, row.task_id) for row in rows], more) == ([(1, "t1.r1"), (2, "t2")], False)
    await space.check()


async def test_a_retried_task_that_was_deleted_does_not_come_again(space: Namespace) -> None:
    await whole(space)
    await finish(space, Settle.FAILED, Settle.COMPLETED)
    await space.do("ZREM", space.key("batch_tasks:b"), "t2")  # somebody else did
    await space.store.forget_tasks(["t2"])
    assert await submit(space, placed(space, 2)) == [Accepted.DUPLICATE]


async def test_a_task_is_given_its_batch_and_the_callback_the_counts(space: Namespace) -> None:
    await whole(space)
    await space.submit("other")
    given = {one.task_id: one.batch for one in await space.take("a", 3)}
    assert given == {"t1": DeliveredBatch("b", 1), "t2": DeliveredBatch("b", 2), "other": NO_BATCH}
    for task_id in ("t1", "t2"):
        await space.store.cancel(task_id, "asked")
    [last] = await space.take("a", 1)
    assert last.batch == DeliveredBatch("b", 0, BatchCounts(total=2, canceled=2))
    assert last.batch.is_callback


async def test_a_retry_after_the_end_changes_the_counts_and_makes_no_second_callback(space: Namespace) -> None:
    await space.register("a")
    await submit(space, placed(space, THEN, 1), placed(space, 1, 1))
    await finish(space, Settle.FAILED)
    await finish(space, Settle.COMPLETED)
    assert await space.state("then") == "completed"
    ended = await space.store.batch("b")
    await space.store.retry("t1", "again")
    await space.advance(5)
    await space.check()
    await finish(space, Settle.COMPLETED)
    assert await counts(space) == BatchCounts(total=1, completed=1, retried=1)
    now = await space.store.batch("b")
    assert ended is not None
    assert now is not None
    assert now.ended_ms == ended.ended_ms
    assert not await space.take("a", 5)
    await space.check()


async def test_a_retried_callback_is_still_that_of_its_batch(space: Namespace) -> None:
    await whole(space)
    await finish(space, Settle.COMPLETED, Settle.FAILED)
    await finish(space, Settle.FAILED)
    await space.store.retry("then", "again")
    [delivery] = await space.take("a", 1)
    assert delivery.task_id == "then.r1"
    await space.check()


async def test_ends_stay_counted_when_their_tasks_are_deleted(space: Namespace) -> None:
    await whole(space)
    await finish(space, Settle.COMPLETED)
    await space.store.forget_tasks(["t1"])
    assert await counts(space) == BatchCounts(total=2, open=1, completed=1)
    await space.check()
    await finish(space, Settle.COMPLETED)
    await space.advance(1000)
    await space.store.trim(500, 10)
    assert await counts(space) == BatchCounts(total=2, completed=2)
    await space.check()


async def test_a_batch_is_deleted_after_its_tasks_and_not_before_its_callback_has_ended(space: Namespace) -> None:
    await whole(space)
    await finish(space, Settle.COMPLETED, Settle.COMPLETED)
    await space.advance(1000)
    await space.store.trim(500, 10)
    assert await space.store.batch("b") is not None
    await finish(space, Settle.COMPLETED)
    await space.advance(1000)
    await space.store.trim(500, 10)
    assert await space.store.batch("b") is None
    snapshot = await space.check()
    assert not [key for key in snapshot if "batch" in key]


async def test_an_open_batch_is_not_deleted(space: Namespace) -> None:
    await space.register("a")
    await submit(space, placed(space, 1))
    await finish(space, Settle.COMPLETED)
    await space.advance(10**9)
    await space.store.trim(500, 10)
    assert await state(space) == BatchState.OPEN


async def test_an_operator_seals_what_a_dead_producer_has_left(space: Namespace) -> None:
    await space.register("a")
    await submit(space, placed(space, THEN), placed(space, 1))
    await finish(space, Settle.COMPLETED)
    assert [await space.store.seal_batch(each) for each in ("b", "b", "nobody")] == ["sealed", "again", "unknown"]
    assert (await state(space), await space.state("then")) == (BatchState.ENDED, "submitted")
    assert await submit(space, placed(space, 1), placed(space, 2)) == [Accepted.DUPLICATE, Accepted.BATCH_CLOSED]
    await space.check()


async def test_a_cancel_ends_the_callback_and_the_open_tasks_in_steps(space: Namespace) -> None:
    await whole(space)
    await finish(space, Settle.COMPLETED)
    await space.take("a", 1)
    step = await space.store.cancel_batch("b", 1, "asked")
    assert (step.word, step.tasks, step.left) == ("canceled", 1, 0)
    assert await counts(space) == BatchCounts(total=2, completed=1, canceled=1)
    assert (await state(space), await space.state("then")) == (BatchState.CANCELED, "canceled")
    assert (await space.store.cancel_batch("b", 1, "asked")).word == "ended"
    assert (await space.store.cancel_batch("nobody", 1, "asked")).word == "unknown"
    await space.check()


async def test_a_canceled_batch_takes_no_more_tasks(space: Namespace) -> None:
    await submit(space, placed(space, THEN), placed(space, 1))
    await space.store.cancel_batch("b", 10, "asked")
    assert await submit(space, placed(space, 2)) == [Accepted.BATCH_CLOSED]
    await space.check()


async def test_a_cancel_that_is_broken_off_is_finished_by_the_next(space: Namespace) -> None:
    await submit(space, placed(space, THEN, 3), *(placed(space, place, 3) for place in (1, 2, 3)))
    left = [(await space.store.cancel_batch("b", 1, "asked")).left for _ in range(3)]
    assert left == [2, 1, 0]
    await space.check()


async def test_events_tell_that_a_batch_was_sealed_and_has_ended(space: Namespace) -> None:
    await whole(space)
    await finish(space, Settle.COMPLETED, Settle.COMPLETED)
    told = [(each.event, each.subject, each.detail) for each in (await space.store.events("", 100)).events]
    assert [each for each in told if each[0].startswith("batch-")] == [
        ("batch-sealed", "b", "2 producer"),
        ("batch-ended", "b", "2"),
    ]
    assert "ready batch b" in "\n".join((await space.task("then")).trail)


async def test_an_end_that_was_not_counted_is_when_its_task_is_deleted(space: Namespace) -> None:
    await submit(space, placed(space, THEN, 1), placed(space, 1, 1))
    await space.do("DEL", space.key("ties:t1"))  # nobody counts it
    await space.store.cancel("t1", "asked")
    assert (await counts(space)).open == 1
    await space.store.forget_tasks(["t1"])
    assert await counts(space) == BatchCounts(total=1, canceled=1)
    await space.check()


async def test_a_look_takes_bounded_steps_and_rests(space: Namespace) -> None:
    await submit(space, *(placed(space, place, 5) for place in range(1, 6)))
    await space.do("DEL", space.key("ties:t5"))
    await space.store.cancel("t5", "asked")  # nobody counts it
    seen = [await space.store.look_at_batches(2) for _ in range(3)]
    assert seen == [(0, 0), (0, 0), (1, 0)]
    counted, wait = await space.store.look_at_batches(2)
    assert counted == 0
    assert wait
    await space.advance(wait)
    assert await space.store.look_at_batches(2) == (0, 0)
    await space.check()


async def test_a_task_whose_record_is_gone_does_not_hold_its_batch_open(space: Namespace) -> None:
    await submit(space, placed(space, THEN, 1), placed(space, 1, 1))
    await space.do("DEL", space.key("task:t1"))
    assert await space.store.look_at_batches(10) == (1, 0)
    assert await counts(space) == BatchCounts(total=1, gone=1)
    assert await space.state("then") == "submitted"


async def test_a_look_counts_nothing_while_a_ledger_rebuilds(space: Namespace) -> None:
    await submit(space, placed(space, THEN, 1), placed(space, 1, 1))
    await space.do("DEL", space.key("task:t1"))
    await space.do("HSET", space.key("meta"), "rebuilding", "e")
    assert (await space.store.look_at_batches(10))[0] == 0
    assert (await counts(space)).open == 1


@pytest.mark.parametrize("key", ["batch:b", "batch_tasks:b"])
async def test_a_damaged_batch_stops_no_other_task(space: Namespace, key: str) -> None:
    await whole(space)
    await space.submit("other")
    await space.do("DEL", space.key(key))
    await space.do("SET", space.key(key), "x")
    taken = await space.take("a", 3)
    verdicts = [await space.settle("a", one, Settle.COMPLETED) for one in taken]
    assert verdicts == ["OK"] * 3
    assert [await space.state(one) for one in ("t1", "t2", "other")] == ["completed"] * 3
    with pytest.raises(UnreadableRecordError):
        await space.store.batch("b")
    page = await space.store.batches(10)
    assert (page.batches, page.unreadable) == ((), ("b",))
    await space.store.look_at_batches(10)
    await space.store.trim(0, 10)
    await space.store.retry("then", "asked")


async def test_tasks_are_listed_by_places_in_pages(space: Namespace) -> None:
    await space.register("a")
    await submit(space, *(placed(space, place, 5) for place in range(1, 6)))
    await finish(space, Settle.FAILED, Settle.COMPLETED)
    pages = [await space.store.batch_tasks("b", after, 2) for after in (0, 2, 4)]
    assert [[(one.task_id, str(one.end)) for one in rows] for rows, _ in pages] == [
        [("t1", "failed"), ("t2", "completed")],
        [("t3", "open"), ("t4", "open")],
        [("t5", "open")],
    ]
    assert [more for _, more in pages] == [True, True, False]


async def test_batches_are_listed_the_latest_first(space: Namespace) -> None:
    manager = TaskManager(space.store, queue=space.queue)
    for name in ("x1", "y", "x2"):
        await manager.run_tasks([TaskSpec(text="a")], batch=name)
        await space.advance(1)
    first = await manager.batches(limit=2)
    rest = await manager.batches(limit=2, cursor=first.cursor)
    assert [each.batch_id for each in (*first.batches, *rest.batches)] == ["x2", "y", "x1"]
    assert rest.cursor == ""
    assert [each.batch_id for each in (await space.store.batches(10, "", "x")).batches] == ["x2", "x1"]


async def test_a_task_without_a_batch_writes_nothing_of_batches(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t")
    await space.push(run("f"))
    for delivery in await space.take("a"):
        await space.settle("a", delivery, Settle.COMPLETED)
    assert not [key for key in await space.check() if "batch" in key]


@pytest.mark.parametrize("key", ["batch:b", "batch_tasks:b"])
async def test_a_task_of_a_damaged_batch_is_refused_before_anything_is_written(space: Namespace, key: str) -> None:
    await space.do("SET", space.key(key), "x")
    before = await space.store.snapshot()
    assert await submit(space, placed(space, THEN), placed(space, 1)) == [Accepted.DAMAGED] * 2
    assert await space.store.snapshot() == before


async def test_a_receipt_names_the_task_of_the_batch(space: Namespace) -> None:
    assert await space.store.submit_with_options([placed(space, 1)]) == [Receipt(Accepted.NEW, "t1")]


@pytest.mark.parametrize("key", ["batch:b", "batch_tasks:b"])
async def test_an_act_on_a_damaged_batch_says_so(space: Namespace, key: str) -> None:
    await whole(space)
    await space.do("DEL", space.key(key))
    await space.do("SET", space.key(key), "x")
    before = await space.store.snapshot()
    acts = (space.store.batch, space.store.seal_batch, lambda batch: space.store.cancel_batch(batch, 10, "enough"))
    for act in acts:
        with pytest.raises(UnreadableRecordError, match="the record of batch 'b' cannot be read"):
            await act("b")
    assert await space.store.snapshot() == before


async def test_a_batch_without_its_digest_is_damaged(space: Namespace) -> None:
    await whole(space)
    await space.do("HDEL", space.key("batch:b"), "digest")
    with pytest.raises(UnreadableRecordError):
        await space.store.cancel_batch("b", 10, "enough")


async def test_a_batch_whose_end_was_cut_off_ends(space: Namespace) -> None:
    """An error behind the end of its last task has left it open."""
    await space.register("a")
    await submit(space, placed(space, 1, 1), placed(space, THEN, 1))
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.COMPLETED)
    await space.do("HDEL", space.key("batch:b"), "ended")
    await space.do("ZREM", space.key("batches_ended"), "b")
    await space.do("ZADD", space.key("batch_looks"), 0, "b")
    await space.store.look_at_batches(100)
    assert await space.do("HEXISTS", space.key("batch:b"), "ended")
    assert [one.task_id for one in await space.take("a")] == ["then"]
