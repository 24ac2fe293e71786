"""A worker's event loop does not turn: what it has claimed and not begun goes back, and it never begins that."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.faults.proxy import Action
from tests.faults.scene import Scene, stage

pytestmark = pytest.mark.anyio


def incarnation(scene: Scene, task_id: str) -> str:
    """Of the worker that has claimed this task first."""
    return scene.happened("claimed", task_id)["detail"].split(":")[1]


async def claimed_by(scene: Scene, worker: str, prefix: str) -> str:
    """Submit tasks until this worker, of two, claims one: bells go to the worker that has waited longest."""
    for number in range(20):
        task_id = f"{prefix}{number}"
        await scene.submit(task_id)
        if incarnation(scene, task_id) == worker:
            return task_id
        await scene.completed(task_id)
        scene.rests(2)
    raise AssertionError(f"{worker} claims nothing\n{scene.pool.log_text()}")


async def test_what_an_idle_worker_claims_that_stands_still_runs_elsewhere_and_once(short_path: Path) -> None:
    async with stage(short_path, workers=2, proxied=True) as scene:
        await scene.submit("stiff", text="stiffen")
        pid, worker = scene.started("stiff")[1], incarnation(scene, "stiff")
        await scene.completed("stiff")
        waits = scene.proxy.on("pull behind", Action.WATCH, about=worker)
        await scene.completed(await claimed_by(scene, worker, "before"))
        waits.met()
        os.kill(pid, signal.SIGUSR2)
        task_id = await claimed_by(scene, worker, "t")
        scene.happened("returned", task_id)
        record = await scene.completed(task_id)
        assert (record.deliveries, record.crashes, record.runs) == (2, 0, 1)
        assert scene.pool.until("tasks of a silent worker that had not begun went back")["incarnation"] == worker
        scene.go("stiff")
        await scene.completed(await claimed_by(scene, worker, "after"))
        assert scene.runs(task_id) == 1
        assert scene.pool.deaths() == []


async def test_what_waits_behind_a_handler_that_blocks_the_loop_runs_elsewhere_and_once(short_path: Path) -> None:
    before, behind = [f"before{number}" for number in range(300)], [f"behind{number}" for number in range(100)]
    async with stage(short_path, workers=2) as scene:
        await scene.submit(*before, text="quick x")
        await scene.submit("h", text="hold")
        await scene.submit(*behind)
        scene.started("h")
        for task_id in behind:
            await scene.completed(task_id)
        scene.go("h")
        await scene.ran_once("h")
        assert {scene.runs(task_id) for task_id in behind} == {1}
        assert scene.pool.deaths() == []
