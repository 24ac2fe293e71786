"""The timeout that counts: the task's own, or that of its schedule; its handler's, its lane's, the worker's."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.client.manager import TaskManager
from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.store import open_store
from holdfast.store.redis import RedisStore
from holdfast_config import RedisSettings
from tests.worker.processes import PATIENCE, worker

pytestmark = pytest.mark.anyio

LANE, HANDLERS, SCHEDULES, TASKS = "0.04", "0.03", "0.02", "0.01"


@pytest.fixture
async def store(redis_settings: RedisSettings) -> AsyncIterator[RedisStore]:
    async with open_store(redis_settings) as opened:
        yield opened


async def test_the_nearest_timeout_counts(store: RedisStore, redis_settings: RedisSettings, short_path: Path) -> None:
    queue = redis_settings.queue
    options: dict[str, Any] = {"lanes": f"quick;timeout={LANE},{queue}", "task_timeout": 0.05, "max_attempts": 1}
    manager = TaskManager(store, queue=queue)
    await manager.run_task(name="endless", task_id="worker")
    await manager.run_task(name="endless", task_id="lane", lane="quick")
    await manager.run_task(name="brief", task_id="handler", lane="quick")
    await manager.run_task(name="brief", task_id="task", lane="quick", timeout=float(TASKS))
    scheduled = await _fired(manager, queue, name="brief", lane="quick", timeout=float(SCHEDULES))
    with worker("limited", folder=short_path, url=redis_settings.url, queue=queue, **options):
        found = {
            task_id: await _reason(manager, task_id) for task_id in ("worker", "lane", "handler", scheduled, "task")
        }
    assert list(found.values()) == [_told(seconds) for seconds in ("0.05", LANE, HANDLERS, SCHEDULES, TASKS)]


async def _fired(manager: TaskManager, queue: str, **spec: Any) -> str:
    """The id of the task that a schedule has made."""
    await manager.schedules.upsert("now", schedule="NOW", **spec)
    await ScheduleFirer(manager._store, queue, 1_000_000).round()  # pyright: ignore[reportPrivateUsage]  # in a steward's place
    return (await manager.schedules.get("now")).task


async def _reason(manager: TaskManager, task_id: str) -> str:
    record = await manager.wait(task_id, PATIENCE)
    assert record.result
    return str(json.loads(record.result)["error"]["message"])


def _told(seconds: str) -> str:
    return f"the handler took longer than {seconds} s"
