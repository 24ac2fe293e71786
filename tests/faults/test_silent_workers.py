"""A worker's event loop does not turn: what it has claimed and not begun goes back, and it never begins that."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.faults.scene import Scene, stage
from tests.faults.test_given_back import TAKEN_BACK, reasons
from tests.faults.work import QUEUE, submission

pytestmark = pytest.mark.anyio

BEHIND = [f"t{number}" for number in range(60)]


async def hold_up(scene: Scene, verb: str) -> int:
    """One of two workers runs `first`, which keeps its event loop from turning, and has claimed some of BEHIND after
    it; its process."""
    scene.rests(2)
    await scene.store.submit([submission("first", verb), *(submission(each, "echo") for each in BEHIND)])
    _, pid = scene.started("first")
    worker = scene.happened("claimed", "first")["detail"].split(":")[1]
    assert scene.client.hlen(f"{{{QUEUE}}}:worker:{worker}:running") > 1
    return pid


async def test_what_waits_behind_a_handler_that_blocks_the_loop_runs_elsewhere_and_once(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await hold_up(scene, "hold")
        await scene.ran_once(*BEHIND)
        assert reasons(scene.heard("returned")) == {TAKEN_BACK}
        assert int(scene.pool.until("tasks of a silent worker that had not begun went back")["tasks"]) > 0
        scene.go("first")
        await scene.ran_once("first")
        await scene.submit("after")
        await scene.completed("after")
        assert {scene.runs(task_id) for task_id in BEHIND} == {1}
        assert scene.pool.deaths() == []


async def test_what_waits_in_a_process_that_stops_again_and_again_runs_elsewhere_and_once(short_path: Path) -> None:
    async with stage(short_path) as scene:
        pid = await hold_up(scene, "halt_once")
        await scene.ran_once(*BEHIND)
        assert reasons(scene.heard("returned")) == {TAKEN_BACK}
        os.kill(pid, signal.SIGKILL)
        record = await scene.completed("first")
        assert (record.deliveries, record.crashes) == (2, 1)
        assert {scene.runs(task_id) for task_id in BEHIND} == {1}
