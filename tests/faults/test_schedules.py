"""Fires are made once, whoever dies and however many stewards there are: scenarios 22 and 23 with real processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.client.manager import TaskManager
from holdfast_config.kill_spec import Point
from tests.faults.process import Pool
from tests.faults.scene import stage
from tests.faults.work import QUEUE

pytestmark = pytest.mark.anyio

SOON = 300  # ms: longer than it takes to set the schedule


@pytest.mark.parametrize("point", [Point.BEFORE_FIRE, Point.FIRE_SENT, Point.FIRED])
async def test_steward_killed_at(point: Point, short_path: Path) -> None:
    async with stage(short_path, kill_at=[point]) as scene:
        manager = TaskManager(scene.store, queue=QUEUE)
        scene.pool.order(point)
        now = await scene.store.clock_ms()
        await manager.schedules.upsert("j", at=(now + SOON) / 1000, text="echo")
        scene.pool.until("died", slot="steward", cause="signal: SIGKILL")
        fired = scene.happened("schedule-fired", "j")
        [_, task_id, *_] = fired["detail"].split(" ")
        await scene.completed(task_id)
        assert [line.what for line in await manager.schedules.history("j")] == ["ended", "fired", "set"]
        assert scene.runs(task_id) == 1


async def test_two_stewards_make_each_fire_once(short_path: Path) -> None:
    async with stage(short_path) as scene:
        (short_path / "other").mkdir()
        other = Pool(
            short_path / "other", scene.url, redis_url=scene.url, workers=1, concurrency=10, queue_name=QUEUE
        ).ready(1)
        try:
            manager = TaskManager(scene.store, queue=QUEUE)
            await manager.schedules.upsert("j", every=0.1, limit=10, overlap="allow", misfire="all:10", text="echo")
            ids = [scene.happened("schedule-fired", "j", times)["detail"].split(" ")[1] for times in range(1, 11)]
            assert len(set(ids)) == 10
            for task_id in ids:
                await scene.completed(task_id)
            assert (await manager.schedules.get("j")).ended
        finally:
            assert other.stop() == 0
            other.close()


async def test_schedules_of_the_code_are_there_once_for_all_workers(short_path: Path) -> None:
    async with stage(short_path, workers=4, handler="tests.faults.scheduled:handlers") as scene:
        ids = [scene.happened("schedule-fired", "of-the-code", times)["detail"].split(" ")[1] for times in (1, 2)]
        assert len(set(ids)) == 2
        for task_id in ids:
            await scene.completed(task_id)
        manager = TaskManager(scene.store, queue=QUEUE)
        assert (await manager.schedules.get("of-the-code")).generation == 1
        assert [line.what for line in await manager.schedules.history("of-the-code")].count("set") == 1
