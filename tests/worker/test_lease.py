"""The lease of a worker: counted from when a renewal was sent, and nothing is claimed past its end, nor in a drain."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import anyio
import anyio.to_thread
import pytest
import redis.asyncio

from holdfast import TaskSpec
from holdfast.app import Broker, create_broker
from holdfast.client.manager import TaskManager
from holdfast.core.delivery import Pulled, Renewed
from holdfast.core.pull_protocol import Lease
from holdfast.core.task_states import State
from holdfast.core.worker_records import Introduction
from holdfast.store.memory.store import MemoryStore
from holdfast.store.redis import RedisStore
from holdfast.worker.claims_ahead import ClaimsAhead
from holdfast.worker.context import WorkerContext, WorkerSpec, lease_clock
from holdfast.worker.in_process import open_worker
from holdfast.worker.lease_renewal import LeaseRenewal
from holdfast_config import RedisSettings, Settings
from holdfast_config.settings import MEMORY
from tests.handler.deliveries import handler_of, task_runner_of

pytestmark = pytest.mark.anyio

LEASE = 0.5  # seconds
PATIENCE = 40  # seconds; reached only by a test that fails


def until(moment: float) -> None:
    """Let the clock of leases pass this moment."""
    while lease_clock() <= moment:
        pass


class SlowStore(RedisStore):
    """Answers renewals when it is let, and remembers for how many tasks each pull had room."""

    def __init__(self, settings: RedisSettings) -> None:
        super().__init__(settings)
        self.answers = anyio.Event()
        self.answers.set()
        self.asked_at = 0.0
        self.rooms: list[int] = []
        self.pulled = anyio.Event()

    async def renew(self, *args: Any, **more: Any) -> Renewed:
        self.asked_at = lease_clock()
        await self.answers.wait()
        until(self.asked_at)
        return await super().renew(*args, **more)

    async def pull(self, incarnation: str, request: int, slots: int, *args: Any, **more: Any) -> Pulled:
        answer = await super().pull(incarnation, request, slots, *args, **more)
        self.rooms.append(slots)
        self.pulled.set()
        self.pulled = anyio.Event()
        return answer


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[SlowStore]:
    async with aclosing(SlowStore(redis_settings)) as opened:
        yield opened


async def test_a_lease_is_counted_from_the_sending_of_its_renewal(store: SlowStore) -> None:
    async def handle() -> None: ...

    context = WorkerContext(WorkerSpec("i" * 32, 0, Settings()), store)
    context.state.lease = Lease(LEASE, 0.0)
    await store.register(Introduction(context.incarnation, "host", "boot", 1, 0))
    await LeaseRenewal(context, ClaimsAhead(context, task_runner_of(context, handle))).renew()
    assert 0.0 < context.state.lease.renewed_at <= store.asked_at


async def test_nothing_is_claimed_past_the_end_of_a_lease(store: SlowStore, redis_settings: RedisSettings) -> None:
    settings = Settings(lease=LEASE, queue_name=redis_settings.queue)
    began, go_on = anyio.Event(), anyio.Event()

    async def handle(messages: Any) -> str:
        text: str = messages[-1]["parts"][0]["text"]
        if text == "first":
            began.set()
            await go_on.wait()
        return text

    manager = TaskManager(store, queue=redis_settings.queue)
    with anyio.fail_after(PATIENCE):
        async with open_worker(store, handler_of(handle), settings):
            await manager.run_task("first", task_id="first")
            await began.wait()
            store.answers = anyio.Event()
            await anyio.to_thread.run_sync(until, lease_clock() + LEASE)
            await manager.run_task("second", task_id="second")
            store.rooms.clear()
            go_on.set()
            await manager.wait("first")
            assert store.rooms
            assert set(store.rooms) == {0}
            assert (await manager.get_task("second")).state is State.SUBMITTED
            store.answers.set()
            await manager.wait("second")
            assert max(store.rooms) > 0


async def push_to(broker: Broker, settings: RedisSettings, entry: str) -> None:
    """As a foreign producer does."""
    if isinstance(broker.store, MemoryStore):
        broker.store.engine.do("RPUSH", settings.queue, entry)
    else:
        async with redis.asyncio.Redis.from_url(settings.url) as client:  # pyright: ignore[reportUnknownMemberType] - untyped
            await client.execute_command("RPUSH", settings.queue, entry)  # pyright: ignore[reportUnknownMemberType]


@pytest.mark.parametrize("kind", ["redis", "memory"])
async def test_a_worker_without_a_steward_hears_orders_while_its_slots_are_full(
    redis_settings: RedisSettings, kind: str
) -> None:
    began = anyio.Event()
    settings = RedisSettings(MEMORY, queue=redis_settings.queue) if kind == "memory" else redis_settings
    where: dict[str, Any] = {"scheduler_type": "memory"} if kind == "memory" else {"redis_url": settings.url}

    async def handle() -> None:
        began.set()
        await anyio.sleep_forever()

    with anyio.fail_after(PATIENCE):
        async with create_broker(Settings(queue_name=settings.queue, concurrency=1, **where)) as broker:
            await broker.manager.run_task("runs", task_id="runs")
            async with broker.working(handle):
                await began.wait()
                others = await broker.manager.run_tasks([TaskSpec("waits")] * 20)
                for task_id in ("runs", others[-1]):
                    await push_to(broker, settings, json.dumps({"operation": "cancel", "params": {"task_id": task_id}}))
                for task_id in ("runs", others[-1]):
                    assert (await broker.manager.wait(task_id)).state is State.CANCELED
                for task_id in others:
                    await broker.manager.cancel_task(task_id)


async def test_a_draining_worker_claims_nothing_before_the_store_knows_that_it_drains(
    store: SlowStore, redis_settings: RedisSettings
) -> None:
    began, go_on = anyio.Event(), anyio.Event()

    async def handle() -> None:
        began.set()
        await go_on.wait()

    manager = TaskManager(store, queue=redis_settings.queue)
    with anyio.fail_after(PATIENCE):
        async with open_worker(store, handler_of(handle), Settings(queue_name=redis_settings.queue)) as worker:
            await manager.run_task("first", task_id="first")
            await began.wait()
            store.answers = anyio.Event()
            worker.drain(PATIENCE)
            await anyio.wait_all_tasks_blocked()
            store.rooms.clear()
            go_on.set()
            await manager.wait("first")
            assert store.rooms
            assert set(store.rooms) == {0}
            store.answers.set()


async def test_a_draining_worker_tells_the_store_without_waiting_for_its_next_renewal(
    store: SlowStore, redis_settings: RedisSettings
) -> None:
    began, go_on = anyio.Event(), anyio.Event()

    async def handle() -> None:
        began.set()
        await go_on.wait()

    manager = TaskManager(store, queue=redis_settings.queue)
    settings = Settings(queue_name=redis_settings.queue, lease=10 * PATIENCE)
    with anyio.fail_after(PATIENCE):
        async with open_worker(store, handler_of(handle), settings) as worker:
            await manager.run_task("first", task_id="first")
            await began.wait()
            worker.drain(PATIENCE)
            while [each.state for each in await store.workers()] != ["draining"]:
                await anyio.lowlevel.checkpoint()
            go_on.set()
