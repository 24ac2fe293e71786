"""A worker, the steward or the pool ends while a handler goes to sleep, sleeps or wakes: it wakes all the same."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from holdfast_config.kill_spec import Point
from tests.faults.scene import Scene, stage

pytestmark = pytest.mark.anyio

FALLING_ASLEEP = (Point.STEP_SENT, Point.STEP_KEPT, Point.BEFORE_SETTLE, Point.SETTLE_SENT, Point.SETTLED)
WAKING = (Point.PULLED, Point.HANDLER)


async def awake(scene: Scene, task_id: str, sleeps: int = 1) -> None:
    """The task has completed: each step behind a sleep ran once, and not before the end of the sleep."""
    record = await scene.completed(task_id)
    assert record.result
    (part,) = json.loads(record.result)["parts"]
    assert part["data"] == [1] * sleeps
    steps = await scene.store.recorded_steps(task_id)
    assert len(steps) == 2 * sleeps
    for sleep, behind in zip(steps[::2], steps[1::2], strict=True):
        assert behind.at_ms >= int(sleep.result)
    assert (record.attempts, record.releases) == (0, 0)


async def test_a_task_sleeps_twice_without_a_slot(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        await scene.submit("long", text="doze 1 3600")
        scene.happened("sleep", "long")
        await scene.submit("t", text="doze 2")
        await awake(scene, "t", sleeps=2)
        record = await scene.record("t")
        assert (record.runs, record.crashes, scene.runs("long")) == (3, 0, 1)
        await scene.store.cancel("long", "the test is over")


@pytest.mark.parametrize("point", FALLING_ASLEEP)
async def test_a_worker_killed_as_its_task_falls_asleep(point: Point, short_path: Path) -> None:
    async with stage(short_path, kill_at=[point], workers=1) as scene:
        scene.pool.order(point)
        await scene.submit("t", text="doze 1")
        await awake(scene, "t")
        assert (await scene.record("t")).crashes <= 1


@pytest.mark.parametrize("point", WAKING)
async def test_a_worker_killed_as_its_task_wakes(point: Point, short_path: Path) -> None:
    async with stage(short_path, kill_at=[point], workers=1) as scene:
        await scene.submit("t", text="doze 1")
        scene.happened("sleep", "t")
        scene.pool.order(point)
        await awake(scene, "t")


async def test_a_task_sleeps_while_its_pool_is_stopped(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.submit("t", text="doze 1")
        scene.happened("sleep", "t")
        scene.restart()
        await awake(scene, "t")
        assert (await scene.record("t")).crashes == 0


async def test_a_task_wakes_though_the_steward_was_killed(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.submit("t", text="doze 1")
        scene.happened("sleep", "t")
        os.kill(scene.pool.pid_of("steward"), signal.SIGKILL)
        await awake(scene, "t")
