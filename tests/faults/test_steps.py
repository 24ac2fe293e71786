"""A worker is killed with -9 at every moment of a step: a result that was recorded is not called for again."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path

import pytest

from holdfast_config.kill_spec import Point
from tests.faults.scene import Scene, stage

pytestmark = pytest.mark.anyio

WINDOWS = (Point.STEP_RAN, Point.STEP_SENT, Point.STEP_KEPT)
STEPS = 3
KILLS = int(os.environ.get("STEP_KILLS", "9"))  # `make step-kills`: 200
TASKS_EACH = 5  # for each kill


async def answers(scene: Scene, task_id: str) -> list[int]:
    """The answers of the steps of a completed task, after a look at how often each was called: no later run has called
    one again, so the answer that was recorded is the last one that was given."""
    record = await scene.completed(task_id)
    assert record.result
    (part,) = json.loads(record.result)["parts"]
    called = scene.client.hgetall(f"calls:{task_id}")
    assert part["data"] == [int(called[str(n)]) for n in range(STEPS)]
    return list(part["data"])


@pytest.mark.parametrize(("point", "calls"), [(Point.STEP_RAN, {2}), (Point.STEP_SENT, {1, 2}), (Point.STEP_KEPT, {1})])
async def test_a_worker_killed_at(point: Point, calls: set[int], short_path: Path) -> None:
    async with stage(short_path, kill_at=[point]) as scene:
        scene.pool.order(point)
        await scene.submit("t", text=f"steps {STEPS}")
        first, *others = await answers(scene, "t")
        assert (first in calls, others) == (True, [1, 1])
        assert (await scene.record("t")).crashes == 1


async def test_workers_killed_again_and_again_call_no_recorded_step_again(short_path: Path) -> None:
    """Each worker runs one task at a time, so that a death is counted for one. It dies in its second task or later: a
    supervisor whose workers do nothing but die would wait longer and longer."""
    at = [f"{point}:{STEPS + 1}" for point in WINDOWS]
    async with stage(short_path, kill_at=at, workers=2, concurrency=1) as scene:
        ids = [f"t{n}" for n in range(KILLS * TASKS_EACH)]
        for n, point in enumerate(itertools.islice(itertools.cycle(WINDOWS), KILLS)):
            scene.pool.order(point)
            await scene.submit(*ids[n::KILLS], text=f"steps {STEPS}")
            scene.pool.until("died", cause="signal: SIGKILL")
        calls = [called for task_id in ids for called in await answers(scene, task_id)]
        assert sum(calls) >= len(calls) == len(ids) * STEPS
        again = sum(calls) - len(calls)
        print(f"{KILLS} kills: {len(calls)} steps, {again} called again, each before its result was recorded")
        assert again <= KILLS
