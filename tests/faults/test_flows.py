"""Children get their parents' results whatever dies meanwhile, and whatever is deleted."""

from __future__ import annotations

import itertools
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.acceptance import SubmitOptions
from holdfast_config.kill_spec import Point
from tests.faults.scene import Scene, stage

pytestmark = pytest.mark.anyio

WINDOWS = (Point.PULLED, Point.HANDLER, Point.BEFORE_SETTLE, Point.SETTLE_SENT, Point.SETTLED)
KILLS = 10
PARENTS = 4


async def gathered(scene: Scene, task_id: str) -> Any:
    """The answer of a completed task that gathers."""
    record = await scene.completed(task_id)
    assert record.result
    (part,) = json.loads(record.result)["parts"]
    return part["data"]


@pytest.mark.parametrize("point", WINDOWS)
@pytest.mark.parametrize("victim", ["parent", "child"])
async def test_a_worker_killed_at(point: Point, victim: str, short_path: Path) -> None:
    """Of the parent, or of its child."""
    async with stage(short_path, kill_at=[point], workers=1) as scene:
        if victim == "parent":
            scene.pool.order(point)
        await scene.submit("p", text="echo page")
        if victim == "child":
            await scene.completed("p")
            scene.pool.order(point)
        await scene.submit_on("c", SubmitOptions(after=("p",)), text="gather")
        scene.pool.until("died")
        assert await gathered(scene, "c") == {"p": "page"}


async def test_a_child_runs_again_with_results_whose_tasks_were_deleted(short_path: Path) -> None:
    async with stage(short_path, workers=2) as scene:
        await scene.submit("p", text="echo page")
        await scene.submit_on("c", SubmitOptions(after=("p",)), text="gather_when_told")
        _, first = scene.started("c")
        assert await scene.store.forget_tasks(["p"]) == 1
        os.kill(first, signal.SIGKILL)
        scene.started("c")
        scene.go("c")
        assert await gathered(scene, "c") == {"p": "page"}


async def test_workers_killed_again_and_again_lose_no_result_of_a_parent(short_path: Path) -> None:
    """Each worker runs one task at a time, so that a death is counted for one."""
    async with stage(short_path, kill_at=WINDOWS, workers=4, concurrency=1) as scene:
        families = [[f"p{n}-{m}" for m in range(PARENTS)] for n in range(KILLS)]
        for n, (parents, point) in enumerate(zip(families, itertools.cycle(WINDOWS), strict=False)):
            scene.pool.order(point)
            for parent in parents:
                await scene.submit(parent, text=f"echo of-{parent}")
            await scene.submit_on(f"c{n}", SubmitOptions(after=tuple(parents)), text="gather")
            scene.pool.until("died")
        for n, parents in enumerate(families):
            answer = await gathered(scene, f"c{n}")
            assert list(answer.items()) == [(parent, f"of-{parent}") for parent in parents]
