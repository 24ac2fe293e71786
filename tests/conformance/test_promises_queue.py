"""Promises about a queue as a whole: it is paused, emptied, cleaned of what has ended, and deleted."""

from __future__ import annotations

import pytest

from holdfast.client.manager import TaskManager
from holdfast.core.task_states import State
from holdfast.errors import (
    InvalidTaskError,
    QueueBusyError,
    StoreRefusedError,
    TaskOpenError,
    UnknownTaskError,
)
from tests.conformance.shop import Shop
from tests.conformance.stand import Stand
from tests.conformance.test_promises_manager import echo

pytestmark = pytest.mark.anyio


@pytest.fixture
def manager(stand: Stand) -> TaskManager:
    return TaskManager(stand.store, queue=stand.queue)


@pytest.fixture
def shop(stand: Stand) -> Shop:
    return Shop(stand, echo)


async def known(manager: TaskManager) -> set[str]:
    return {task.task_id for task in (await manager.list_tasks()).tasks}


async def test_a_paused_queue_accepts_and_starts_nothing(manager: TaskManager, shop: Shop) -> None:
    assert await manager.pause_queue(reason="the bank is closed")
    assert not await manager.pause_queue()
    await manager.run_task("hello", task_id="t1")
    assert await shop.work() == 0
    assert await manager.resume_queue()
    assert not await manager.resume_queue()
    assert await shop.work() == 1


async def test_a_queue_is_drained_of_what_waits_and_of_what_is_due_later(manager: TaskManager) -> None:
    await manager.run_task("now", task_id="now")
    await manager.run_task("later", task_id="later", delay=60)
    await manager.run_task("elsewhere", task_id="elsewhere", lane="other", delay=60)
    assert await manager.clear_queue() == 1
    assert (await manager.get_task("later")).state is State.DELAYED
    assert await manager.clear_queue(delayed=True) == 1
    assert (await manager.get_task("later")).state is State.CANCELED
    assert (await manager.get_task("elsewhere")).state is State.DELAYED


async def test_a_task_that_has_ended_is_removed_with_its_id(manager: TaskManager, shop: Shop) -> None:
    await manager.run_task("hello", task_id="t1")
    with pytest.raises(TaskOpenError, match="t1 is submitted and cannot be removed: cancel it first"):
        await manager.remove_task("t1")
    assert await shop.work() == 1
    await manager.remove_task("t1")
    for ask in (manager.remove_task, manager.get_task):
        with pytest.raises(UnknownTaskError):
            await ask("t1")
    await manager.run_task("hello", task_id="t1")
    assert await shop.work() == 1
    assert (await manager.get_task("t1")).state is State.COMPLETED


async def test_what_has_ended_is_cleaned_away_by_state_and_age(manager: TaskManager, stand: Stand, shop: Shop) -> None:
    for name in ("done", "canceled", "open"):
        await manager.run_task(name, task_id=name, delay=None if name == "done" else 3600)
    assert await shop.work() == 1
    await manager.cancel_task("canceled")
    await stand.advance(10_000)
    await manager.run_task("young", task_id="young")
    assert await shop.work() == 1
    assert await manager.clean_tasks(older_than=100) == 0
    assert await manager.clean_tasks("completed", older_than=5) == 1
    assert await known(manager) == {"canceled", "open", "young"}
    assert await manager.clean_tasks(lane="other") == 0
    assert await manager.clean_tasks(limit=1) == 1
    assert await known(manager) == {"canceled", "open"}
    assert await manager.clean_tasks() == 1
    assert await known(manager) == {"open"}
    with pytest.raises(InvalidTaskError, match="state working: only ended tasks can be deleted"):
        await manager.clean_tasks("working")


async def test_many_that_have_ended_are_cleaned_away_page_by_page(manager: TaskManager) -> None:
    for number in range(250):
        await manager.run_task("x", task_id=f"t{number}", delay=60)
        await manager.cancel_task(f"t{number}")
    assert await manager.clean_tasks("canceled", limit=130) == 130
    assert await manager.clean_tasks("canceled") == 120


async def test_an_obliterated_queue_is_as_new(manager: TaskManager, stand: Stand, shop: Shop) -> None:
    for number in range(30):
        await manager.run_task("x", task_id=f"t{number}", lane="other" if number % 2 else None)
    await manager.schedules.upsert("j", every=60, text="go")
    assert await shop.work() == 15
    if stand.remembers:
        with pytest.raises(StoreRefusedError, match="cannot be obliterated"):
            await manager.obliterate_queue()
        return
    with pytest.raises(QueueBusyError, match="1 worker: stop all workers first, or delete it"):
        await manager.obliterate_queue()
    assert await manager.count_tasks() == 30
    await stand.crash("shop")
    assert await manager.obliterate_queue() > 30
    assert await known(manager) == set()
    assert await manager.queue_length("other") == 0
    assert (await manager.schedules.list()).schedules == ()
