"""A stream of a task outlives a store that is away, and ends when it is to end."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.query import TaskQueries
from holdfast.errors import StoreUnavailableError
from holdfast.store import open_store
from holdfast_config import RedisSettings, Settings
from holdfastd.a2a.agent_task import AgentTask, StatusChange
from holdfastd.web.a2a.methods import Agent
from holdfastd.web.queue.queue_access import QueueAccess
from holdfastd.web.web_process import SHORT
from tests.servers import serve

pytestmark = pytest.mark.anyio

PATIENCE = 30.0  # seconds; reached only by a test that fails


async def test_a_stream_goes_on_when_the_store_is_back(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    kept, failed = ("--appendonly", "yes", "--dir", str(short_path)), asyncio.Event()
    read: Any = TaskQueries.record

    async def noticed(*asked: Any, **more: Any) -> Any:
        try:
            return await read(*asked, **more)
        except StoreUnavailableError:
            failed.set()
            raise

    monkeypatch.setattr(TaskQueries, "record", noticed)
    with serve(short_path, *kept) as server:
        redis = RedisSettings(url=server.url, queue="q")
        async with open_store(redis) as store:
            manager = TaskManager(store, queue=redis.queue, retries=SHORT)
            access = QueueAccess(store, manager, Settings(redis_url=redis.url, queue_name=redis.queue))
            await manager.run_task("hello", task_id="t")
            async with aclosing(Agent(access).follow("t")) as told:
                assert cast("AgentTask", await anext(told)).status.state == "submitted"
                os.kill(server.pid, signal.SIGKILL)
                following = asyncio.create_task(anext(told))
                async with asyncio.timeout(PATIENCE):
                    await failed.wait()
                with serve(short_path, *kept):
                    await manager.cancel_task("t")
                    async with asyncio.timeout(PATIENCE):
                        change = await following
                assert isinstance(change, StatusChange)
                assert change.status.state == "canceled"


@pytest.mark.parametrize("steps", range(6))
async def test_a_stream_that_is_ended_while_it_is_told_something_ends(
    redis_settings: RedisSettings, steps: int
) -> None:
    """Whichever step of the event loop the end and the notice share."""
    async with open_store(redis_settings) as store:
        manager = TaskManager(store, queue=redis_settings.queue)
        access = QueueAccess(store, manager, Settings(redis_url=redis_settings.url, queue_name=redis_settings.queue))
        await manager.run_task("hello", task_id="t")
        begun, happens = asyncio.Event(), asyncio.Event()

        async def notices(_: str) -> AsyncGenerator[str]:
            begun.set()
            await happens.wait()
            yield ""
            await asyncio.Event().wait()

        cast("Any", store).emitted = notices
        async with aclosing(Agent(access).follow("t")) as told:
            await anext(told)
            following = asyncio.create_task(anext(told))
            await begun.wait()
            happens.set()
            for _ in range(steps):
                await asyncio.sleep(0)
            following.cancel()
            async with asyncio.timeout(PATIENCE):
                await asyncio.wait((following,))
            assert following.cancelled()
