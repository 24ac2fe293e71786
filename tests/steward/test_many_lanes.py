"""More lanes than a pool of connections: each is rung for, and a limit of ours is no outage of the store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import anyio
import anyio.lowlevel
import pytest
import redis.asyncio

from holdfast.core.store_info import MOST_PEEKS
from holdfast.errors import ConnectionLimitError, StoreError
from holdfast.store import open_store
from holdfast_config import RedisSettings
from holdfastd.steward.duties.bells import bells
from holdfastd.steward.duty import Duty, Health, run_duty

if TYPE_CHECKING:
    from holdfast.store import Store

WITHIN = 30.0  # seconds; for what would else hang
pytestmark = pytest.mark.anyio


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[Store]:
    async with open_store(redis_settings) as opened:
        yield opened


@pytest.fixture
async def admin(server_url: str) -> AsyncIterator[Any]:
    async with redis.asyncio.Redis.from_url(server_url) as client:
        yield client


class Lanes:
    def __init__(self, admin: Any, queue: str, count: int) -> None:
        self._admin, self._queue = admin, queue
        self.names = [f"lane{number}" for number in range(count)]

    async def peeked_at(self, count: int) -> None:
        """Until a steward blocks on so many."""
        while sum(each["cmd"] == "blmove" for each in await self._admin.client_list()) < count:
            await anyio.lowlevel.checkpoint()

    async def push(self) -> None:
        """As a producer that knows of no bells."""
        async with self._admin.pipeline(transaction=False) as pipeline:
            for name in self.names:
                pipeline.rpush(f"{{{self._queue}}}:lane:{name}", "{}")
            await pipeline.execute()

    async def rung(self) -> None:
        bells = [f"{{{self._queue}}}:bell:{name}" for name in self.names]
        while await self._admin.exists(*bells) < len(bells):
            await anyio.lowlevel.checkpoint()


@pytest.mark.parametrize("count", [150, MOST_PEEKS + 120])
async def test_each_of_many_lanes_is_rung_for_and_the_steward_is_well(
    store: Store, admin: Any, redis_settings: RedisSettings, count: int
) -> None:
    health, lanes = Health(), Lanes(admin, redis_settings.queue, count)
    with anyio.fail_after(WITHIN):
        await every_lane_is_rung_for(store, lanes, health)
    assert (health.outages, health.degraded) == (0, "")


async def every_lane_is_rung_for(store: Store, lanes: Lanes, health: Health) -> None:
    async with anyio.create_task_group() as group:
        for duty in bells(store, lanes.names):
            group.start_soon(run_duty, duty, health)
        await lanes.peeked_at(min(len(lanes.names), MOST_PEEKS))
        await lanes.push()
        await lanes.rung()
        group.cancel_scope.cancel()


async def test_a_lane_that_is_no_list_keeps_no_other_from_its_bell(
    store: Store, admin: Any, redis_settings: RedisSettings
) -> None:
    prefix = f"{{{redis_settings.queue}}}:"
    await admin.set(f"{prefix}lane:b", "x")
    await admin.rpush(f"{prefix}lane:c", "{}")
    with pytest.raises(StoreError, match="WRONGTYPE"):
        await store.ring("a", "b", "c")
    assert await admin.exists(f"{prefix}bell:c")


async def test_connections_that_are_all_in_use_are_no_outage(redis_settings: RedisSettings) -> None:
    """Leases are believed less after an outage; a limit of this process says nothing about the store."""
    health = Health()
    async with open_store(replace(redis_settings, max_connections=1, answer_timeout=0.05)) as store:
        failed: list[Exception] = []

        async def run_once() -> float:
            try:
                await store.peek("lane", 60.0)
            except ConnectionLimitError as error:
                failed.append(error)
                raise
            return 0.0

        async with anyio.create_task_group() as group:
            for number in range(MOST_PEEKS + 1):
                group.start_soon(run_duty, Duty(f"peek {number}", run_once), health)
            while not failed:
                await anyio.lowlevel.checkpoint()
            group.cancel_scope.cancel()
    assert health.outages == 0
    assert "that this process may open are in use" in health.degraded
