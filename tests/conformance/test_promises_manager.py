"""Promises about TaskManager: one task however often it is asked for, batches, waiting, lists, counts, clearing."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.task_states import State
from holdfast.core.tasks import Page
from holdfast.errors import MessageConflictError, TaskEndedError
from tests.conformance.shop import Shop
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]


async def echo(messages: Messages) -> str:
    return str(messages[-1]["content"])


@pytest.fixture
def manager(stand: Stand) -> TaskManager:
    return TaskManager(stand.store, queue=stand.queue)


@pytest.fixture
def shop(stand: Stand) -> Shop:
    return Shop(stand, echo)


async def all_pages(ask: Callable[[str], Any]) -> list[str]:
    task_ids: list[str] = []
    cursor = ""
    while True:
        page: Page = await ask(cursor)
        task_ids += [task.task_id for task in page.tasks]
        if not (cursor := page.cursor):
            return task_ids


async def test_a_submission_returns_its_id_at_once(manager: TaskManager) -> None:
    made_up = await manager.run_task("hello")
    assert (await manager.get_task(made_up)).state == State.SUBMITTED
    assert await manager.run_task("hello", task_id="chosen") == "chosen"


async def test_the_same_call_is_one_task_and_one_run(manager: TaskManager, shop: Shop) -> None:
    for _ in range(3):
        assert await manager.run_task("hello", task_id="t1") == "t1"
        assert await manager.run_task(data=[1], task_id="t2", message_id="m") == "t2"
    assert await manager.count_tasks() == 2
    assert await shop.work() == 2
    assert await manager.run_task("hello", task_id="t1") == "t1"
    assert await shop.work() == 0
    with pytest.raises(MessageConflictError):
        await manager.run_task(data=[2], task_id="t2", message_id="m")
    with pytest.raises(TaskEndedError):
        await manager.run_task("something else", task_id="t1")


async def test_a_batch_is_accepted_in_its_order(manager: TaskManager, shop: Shop) -> None:
    specs = [TaskSpec(text=f"text {n}", task_id=f"t{n}") for n in range(250)]
    assert await manager.run_tasks(specs) == [f"t{n}" for n in range(250)]
    assert await manager.run_tasks([]) == []
    assert len((await manager.list_tasks(limit=250)).tasks) == 250
    assert [delivery.task_id for delivery in await shop.take()] == [f"t{n}" for n in range(10)]


async def test_tasks_may_wait_for_a_delay_or_a_moment(stand: Stand, manager: TaskManager, shop: Shop) -> None:
    await manager.run_task("now", task_id="now")
    now = (await manager.get_task("now")).created_ms / 1000
    await manager.run_task("a", task_id="delay", delay=60)
    await manager.run_task("b", task_id="moment", at=now + 60)
    await manager.run_task("c", task_id="date", at=datetime.fromtimestamp(now + 60, UTC))
    await manager.run_task("d", task_id="past", at=now - 60)
    assert [delivery.task_id for delivery in await shop.take()] == ["now", "past"]
    listed = await manager.list_tasks(state="delayed")
    assert {task.task_id for task in listed.tasks} == {"delay", "moment", "date"}
    assert await manager.count_tasks("delayed") == 3
    await stand.advance(60_001)
    assert {delivery.task_id for delivery in await shop.take()} == {"delay", "moment", "date"}


async def test_wait_is_told_and_does_not_ask(manager: TaskManager, shop: Shop) -> None:
    await manager.run_task("hello", task_id="t1")
    looks = 0
    get = manager.record  # to count what waiting asks

    async def counted(task_id: str, payloads: bool) -> Any:
        nonlocal looks
        looks += 1
        return await get(task_id, payloads)

    manager.record = counted  # type: ignore[method-assign]
    async with anyio.create_task_group() as group:

        async def wait() -> None:
            record = await manager.wait("t1", timeout=30)
            assert record.state == State.COMPLETED
            group.cancel_scope.cancel()

        group.start_soon(wait)
        while not looks:  # the first look comes when it listens
            await anyio.lowlevel.checkpoint()
        assert looks == 1
        await shop.work()
        await anyio.sleep(30)
        raise AssertionError("nobody told it")
    assert looks <= 3


async def test_wait_ends_at_a_question_and_in_time(manager: TaskManager, stand: Stand) -> None:
    async def ask() -> object:
        return {"state": "auth-required", "prompt": "who?"}

    task_id = await manager.run_task("hello")
    with pytest.raises(TimeoutError, match=f"task {task_id} has not ended within 0.01 s"):
        await manager.wait(task_id, timeout=0.01)
    await Shop(stand, ask).work()
    assert (await manager.wait(task_id)).state == State.AUTH_REQUIRED


async def test_lists_by_state_lane_name_and_age_go_page_by_page(stand: Stand, manager: TaskManager, shop: Shop) -> None:
    await manager.run_tasks([TaskSpec(text="x", task_id=f"old{n}") for n in range(3)])
    await shop.work()
    await stand.advance(60_000)
    await manager.run_tasks([TaskSpec(name="report", task_id=f"named{n}", lane="slow") for n in range(3)])
    await manager.run_tasks([TaskSpec(text="x", task_id=f"plain{n}") for n in range(3)])

    async def listed(*states: State, **wanted: Any) -> list[str]:
        async def ask(cursor: str) -> Page:
            return await manager.list_tasks(*states, **wanted, limit=2, cursor=cursor)

        return sorted(await all_pages(ask))

    assert len(await listed()) == 9
    assert len((await manager.list_tasks(limit=9)).tasks) == 9
    assert await listed(State.COMPLETED) == await listed(older_than=60) == ["old0", "old1", "old2"]
    assert await listed(newer_than=59, name="report") == await listed(lane="slow") == ["named0", "named1", "named2"]
    assert await listed(State.SUBMITTED, lane=stand.queue) == ["plain0", "plain1", "plain2"]
    assert await listed(State.SUBMITTED, state=State.COMPLETED, older_than=61) == []


async def test_the_queue_is_measured_and_cleared_with_a_count(stand: Stand, manager: TaskManager, shop: Shop) -> None:
    await manager.run_tasks([TaskSpec(text="x") for _ in range(250)])
    await manager.run_tasks([TaskSpec(text="x", lane="slow") for _ in range(2)])
    await stand.push(b'{"operation": "run", "params": {"task_id": "f1"}}')
    assert await manager.queue_length() == 253
    assert await manager.queue_length(stand.queue) == 251
    assert await manager.clear_queue() == 251
    assert await manager.clear_queue() == 0
    assert (await manager.queue_length(), await manager.count_tasks("canceled")) == (2, 250)
    assert await shop.work() == 0


async def test_health_is_whether_the_store_answers(manager: TaskManager) -> None:
    assert await manager.health_check()
