"""Promises about batches of TaskManager: the same call again, other tasks, counts, waiting, the callback's view."""

from __future__ import annotations

from typing import Any

import anyio
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.batches import NO_BATCH, BatchCounts, BatchState, DeliveredBatch
from holdfast.errors import (
    BatchClosedError,
    BatchConflictError,
    InvalidTaskError,
    UnknownBatchError,
)
from holdfast.handler.task import Task
from tests.conformance.shop import Shop
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio

Messages = list[dict[str, Any]]
THEN = TaskSpec(text="all have ended")


async def handle(messages: Messages, task: Task) -> str:
    """Of a callback: what it was told of its batch."""
    text = str(messages[-1]["content"])
    if text == "bad":
        raise ValueError(text)
    return repr(task.batch.counts) if task.batch.is_callback else text


@pytest.fixture
def manager(stand: Stand) -> TaskManager:
    return TaskManager(stand.store, queue=stand.queue)


@pytest.fixture
def shop(stand: Stand) -> Shop:
    return Shop(stand, handle)


def specs(*texts: str) -> list[TaskSpec]:
    return [TaskSpec(text=text, max_attempts=1) for text in texts]


async def test_the_callback_runs_when_all_have_ended_and_is_given_the_counts(manager: TaskManager, shop: Shop) -> None:
    ids = await manager.run_tasks(specs("a", "bad", "c"), batch="import", then=THEN)
    assert ids == ["import.1", "import.2", "import.3"]
    assert (await manager.get_task("import.then")).state == "waiting"
    assert await shop.work() == 4
    counts = BatchCounts(total=3, completed=2, failed=1)
    assert (await manager.get_task("import.then")).value == repr(counts)
    record = await manager.batch("import").record()
    assert (record.state, record.counts, record.then) == (BatchState.ENDED, counts, "import.then")


async def test_an_unknown_batch_has_no_tasks_to_list(manager: TaskManager) -> None:
    await manager.run_tasks(specs("a"), batch="b1")
    for batch_id in ("b", "b2"):
        with pytest.raises(UnknownBatchError, match=f"no batch {batch_id};"):
            await anext(manager.batch(batch_id).tasks())
    assert [task.task_id async for task in manager.batch("b1").tasks("failed")] == []


async def test_a_task_is_told_its_batch(manager: TaskManager, shop: Shop) -> None:
    await manager.run_tasks(specs("a", "b"), batch="b1")
    await manager.run_task("alone")
    found = [Task(delivery).batch for delivery in await shop.take()]
    assert found == [DeliveredBatch("b1", 1), DeliveredBatch("b1", 2), NO_BATCH]
    assert (await manager.get_task("b1.2")).batch == "b1"


async def test_a_batch_of_several_calls_of_the_store_is_sealed_by_the_last(manager: TaskManager) -> None:
    ids = await manager.run_tasks(specs(*["x"] * 250), batch="many", then=THEN)
    assert len(set(ids)) == 250
    record = await manager.batch("many").record()
    assert (record.counts.total, record.state, record.sealed_by) == (250, BatchState.SEALED, "producer")


async def test_the_same_call_again_adds_nothing_at_any_time(manager: TaskManager, shop: Shop) -> None:
    for _ in range(2):
        assert await manager.run_tasks(specs("a", "b"), batch="b1", then=THEN) == ["b1.1", "b1.2"]
    assert await shop.work() == 3
    assert await manager.run_tasks(specs("a", "b"), batch="b1", then=THEN) == ["b1.1", "b1.2"]
    assert await shop.work() == 0
    assert (await manager.batch("b1").record()).counts == BatchCounts(total=2, completed=2)


@pytest.mark.parametrize(
    ("texts", "then"),
    [
        (("a", "other"), THEN),
        (("a",), THEN),
        (("a", "b", "c"), THEN),
        (("a", "b"), None),
        (("a", "b"), TaskSpec(text="x")),
    ],
)
async def test_the_id_of_a_batch_with_other_tasks_is_refused_and_nothing_is_done(
    stand: Stand, manager: TaskManager, texts: tuple[str, ...], then: TaskSpec | None
) -> None:
    await manager.run_tasks(specs("a", "b"), batch="b1", then=THEN)
    before = await stand.store.snapshot()
    with pytest.raises(BatchConflictError, match="batch b1 was submitted before with other tasks"):
        await manager.run_tasks(specs(*texts), batch="b1", then=then)
    assert await stand.store.snapshot() == before


async def test_tasks_may_have_ids_and_keys_of_their_own(manager: TaskManager, shop: Shop) -> None:
    given = [TaskSpec(text="a", task_id="mine"), TaskSpec(text="b", key="k"), TaskSpec(text="c")]
    ids = await manager.run_tasks(given, batch="b1")
    assert (ids[0], ids[2]) == ("mine", "b1.3")
    assert await shop.work() == 3
    assert [task.task_id async for task in manager.batch("b1").tasks("completed")] == ids


async def test_a_wait_ends_with_the_last_task(manager: TaskManager, shop: Shop) -> None:
    await manager.run_tasks(specs("a", "b"), batch="b1")
    with pytest.raises(TimeoutError, match="batch b1 has not ended within 0 s"):
        await manager.batch("b1").wait(timeout=0)
    async with anyio.create_task_group() as group:
        group.start_soon(shop.work)
        record = await manager.batch("b1").wait(timeout=60)
    assert record.counts == BatchCounts(total=2, completed=2)
    assert await manager.batch("b1").wait() == record


async def test_the_tasks_of_a_batch_are_read_by_how_they_have_ended(manager: TaskManager, shop: Shop) -> None:
    await manager.run_tasks(specs(*["a"] * 3, "bad"), batch="b1")
    await shop.work()
    assert [task.task_id async for task in manager.batch("b1").tasks("failed")] == ["b1.4"]
    assert [task.place async for task in manager.batch("b1").tasks()] == [1, 2, 3, 4]
    assert [str(task.state) async for task in manager.batch("b1").tasks("failed", "completed")][2:] == [
        "completed",
        "failed",
    ]
    with pytest.raises(InvalidTaskError, match="end 'lost': open, completed"):
        await anext(manager.batch("b1").tasks("lost"))


async def test_a_retry_takes_the_place_of_its_task(manager: TaskManager, shop: Shop) -> None:
    await manager.run_tasks(specs("bad"), batch="b1")
    await shop.work()
    again = await manager.retry_task("b1.1")
    assert [task.task_id async for task in manager.batch("b1").tasks("open")] == [again]
    await shop.work()
    assert (await manager.batch("b1").record()).counts == BatchCounts(total=1, failed=1, retried=1)


async def test_a_cancel_ends_what_is_open_and_the_callback(manager: TaskManager, shop: Shop) -> None:
    await manager.run_tasks(specs(*["x"] * 120), batch="b1", then=THEN)
    record = await manager.batch("b1").cancel("no longer wanted")
    assert (record.state, record.counts) == (BatchState.CANCELED, BatchCounts(total=120, canceled=120))
    assert (await manager.get_task("b1.then")).reason == "no longer wanted"
    assert await shop.work() == 0


async def test_a_batch_that_nobody_knows_is_named(manager: TaskManager) -> None:
    batch = manager.batch("nobody")
    for call in (batch.record, batch.wait, batch.seal, batch.cancel):
        with pytest.raises(UnknownBatchError, match="no batch nobody; a batch that ended long ago is forgotten"):
            await call()
    with pytest.raises(UnknownBatchError):
        await anext(batch.tasks())


async def test_a_sealed_batch_takes_no_more_tasks(manager: TaskManager, stand: Stand) -> None:
    """Of a producer that was believed to be dead."""
    first, second, *_ = await _prepared(manager, 3)
    await stand.store.submit_with_options([first])
    assert (await manager.batch("b1").record()).state == BatchState.OPEN
    assert (await manager.batch("b1").seal()).state == BatchState.SEALED
    with pytest.raises(
        BatchClosedError, match=r"batch b1 was sealed or canceled by an operator before task b1\.2 came"
    ):
        await manager.run_tasks(specs(*["x"] * 3), batch="b1")
    assert second.task_id == "b1.2"


async def test_a_call_that_was_cut_off_is_completed_by_the_same_call(manager: TaskManager, stand: Stand) -> None:
    first, *_ = await _prepared(manager, 3)
    await stand.store.submit_with_options([first])
    await manager.run_tasks(specs(*["x"] * 3), batch="b1")
    record = await manager.batch("b1").record()
    assert (record.state, record.counts.total) == (BatchState.SEALED, 3)


async def _prepared(manager: TaskManager, number: int) -> list[Any]:
    """The submissions of `run_tasks`, which are not made."""
    from holdfast.client.manager import drafts_of_batch
    from holdfast.client.submission import built

    drafts = [manager.submitter.draft(spec) for spec in specs(*["x"] * number)]
    queue = manager._queue  # pyright: ignore[reportPrivateUsage]
    return [built(one, queue, 1 << 20) for one in drafts_of_batch(queue, "b1", drafts, None)]
