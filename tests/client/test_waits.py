"""Many who wait for tasks in one process: one subscription, a bounded number of commands, nobody forgotten."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
import redis.asyncio

from holdfast.client.manager import TaskManager
from holdfast.client.task_spec import TaskSpec
from holdfast.core.delivery import Settle, Settlement
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.core.worker_records import Introduction
from holdfast.store import open_store
from holdfast_config import RedisSettings

if TYPE_CHECKING:
    from holdfast.store import Store

pytestmark = pytest.mark.anyio
MANY = 300
WITHIN = 20.0  # seconds; for what would else hang
DONE = b'{"state":"completed","parts":[]}'


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[Store]:
    async with open_store(redis_settings) as opened:
        yield opened


@pytest.fixture
async def admin(server_url: str) -> AsyncIterator[Any]:
    async with redis.asyncio.Redis.from_url(server_url) as client:
        yield client


async def run_all(store: Store, queue: str) -> None:
    """As a worker does: take everything, settle everything."""
    await store.register(Introduction("w", "host", "boot", 1, 0))
    taken = (await store.pull("w", 1, MANY, [queue], [])).deliveries
    await store.pull(
        "w", 2, 0, [queue], [Settlement(each.task_id, each.claim, Settle.COMPLETED, DONE) for each in taken]
    )


class Crowd:
    """Waits for so many tasks at once, each by itself."""

    def __init__(self, store: Store, admin: Any, queue: str) -> None:
        self.manager = TaskManager(store, queue=queue)
        self.records: list[TaskRecord] = []
        self._admin, self._queue = admin, queue

    async def submit(self, count: int = MANY) -> list[str]:
        return await self.manager.run_tasks([TaskSpec(text="x", task_id=f"t{number}") for number in range(count)])

    async def wait(self, task_id: str) -> None:
        self.records.append(await self.manager.wait(task_id))

    async def listening(self, count: int) -> None:
        """Until the server has so many channels of this queue."""
        while len(await self._admin.pubsub_channels(f"*{self._queue}*done:*")) < count:
            await anyio.lowlevel.checkpoint()

    async def subscriptions(self) -> int:
        """Connections that are subscribed to anything."""
        return len(await self._admin.client_list(_type="pubsub"))

    async def calls(self) -> int:
        """Scripts and subscriptions that the server was asked for."""
        stats = await self._admin.info("commandstats")
        return sum(stats.get(f"cmdstat_{name}", {"calls": 0})["calls"] for name in ("evalsha", "subscribe"))


@pytest.fixture
def crowd(store: Store, admin: Any, redis_settings: RedisSettings) -> Crowd:
    return Crowd(store, admin, redis_settings.queue)


async def test_all_waits_of_a_process_share_one_subscription(store: Store, crowd: Crowd, redis_settings: Any) -> None:
    task_ids = await crowd.submit()
    before = await crowd.subscriptions()
    async with anyio.create_task_group() as group:
        for task_id in task_ids:
            group.start_soon(crowd.wait, task_id)
        await crowd.listening(MANY)
        assert await crowd.subscriptions() == before + 1
        await run_all(store, redis_settings.queue)
    assert [record.state for record in crowd.records] == [State.COMPLETED] * MANY
    while await crowd.subscriptions() > before:
        await anyio.lowlevel.checkpoint()


async def test_a_wait_costs_a_few_commands_however_many_there_are(
    store: Store, crowd: Crowd, redis_settings: Any
) -> None:
    task_ids = await crowd.submit()
    before = await crowd.calls()
    async with anyio.create_task_group() as group:
        for task_id in task_ids:
            group.start_soon(crowd.wait, task_id)
        await anyio.wait_all_tasks_blocked()
        await run_all(store, redis_settings.queue)
    assert len(crowd.records) == MANY
    assert await crowd.calls() - before < 6 * MANY


async def first_notice(store: Store, task_id: str, heard: list[str]) -> None:
    """Without the looks that a wait has beside its subscription."""
    async with aclosing(store.settled([task_id])) as notices:  # type: ignore[type-var]  # a generator
        async for notice in notices:
            heard.append(notice)
            if notice:
                return


async def test_those_that_leave_take_nothing_from_those_that_stay(
    store: Store, crowd: Crowd, redis_settings: Any
) -> None:
    task_ids, heard, gone = await crowd.submit(), list[str](), list[str]()
    with anyio.fail_after(WITHIN):
        async with anyio.create_task_group() as group:
            async with anyio.create_task_group() as leaving:
                for task_id in task_ids[::2]:
                    leaving.start_soon(first_notice, store, task_id, gone)
                await crowd.listening(MANY // 2)
                for task_id in task_ids[1::2]:
                    group.start_soon(first_notice, store, task_id, heard)
                await crowd.listening(MANY)
                leaving.cancel_scope.cancel()  # among them the one that reads
            await run_all(store, redis_settings.queue)
    assert sorted(filter(None, heard)) == sorted(task_ids[1::2])


async def test_who_does_not_take_its_notices_keeps_nobody_from_theirs(
    store: Store, crowd: Crowd, redis_settings: Any
) -> None:
    (first, *others), heard = await crowd.submit(20), list[str]()
    with anyio.fail_after(WITHIN):
        async with aclosing(store.settled([first])) as idle:  # type: ignore[type-var]  # a generator
            assert await anext(idle) == ""  # it has read for all, and reads no more
            async with anyio.create_task_group() as group:
                for task_id in others:
                    group.start_soon(first_notice, store, task_id, heard)
                await crowd.listening(20)
                await run_all(store, redis_settings.queue)
    assert sorted(filter(None, heard)) == sorted(others)


async def test_all_waits_outlive_their_subscription(
    store: Store, crowd: Crowd, admin: Any, redis_settings: Any
) -> None:
    task_ids = await crowd.submit()
    async with anyio.create_task_group() as group:
        for task_id in task_ids:
            group.start_soon(crowd.wait, task_id)
        await crowd.listening(MANY)
        await admin.client_kill_filter(_type="pubsub")
        await crowd.listening(MANY)
        await run_all(store, redis_settings.queue)
    assert len(crowd.records) == MANY


async def test_many_tasks_and_single_ones_share_the_subscription_too(
    store: Store, crowd: Crowd, redis_settings: Any
) -> None:
    task_ids = await crowd.submit(100)
    before = await crowd.subscriptions()

    async def wait_for_all() -> None:
        async for record in crowd.manager.wait_all(task_ids):
            crowd.records.append(record)

    async with anyio.create_task_group() as group:
        group.start_soon(wait_for_all)
        group.start_soon(crowd.wait, task_ids[0])
        await crowd.listening(1)
        assert await crowd.subscriptions() == before + 1
        await run_all(store, redis_settings.queue)
    assert len(crowd.records) == 101


async def test_channels_that_nobody_needs_any_more_are_left(store: Store, crowd: Crowd, admin: Any) -> None:
    """While somebody waits all the time, the subscription does not grow with every wait there ever was."""
    await crowd.submit(1)
    async with anyio.create_task_group() as group:
        group.start_soon(crowd.wait, "t0")
        await crowd.listening(1)
        for number in range(200):
            async with aclosing(store.settled([f"other{number}"])) as notices:  # type: ignore[type-var]  # a generator
                assert await anext(notices) == ""
        assert len(await admin.pubsub_channels("*done:other*")) < 100
        group.cancel_scope.cancel()
