"""A worker's event loop does not turn: what it has claimed and not begun goes back, and it never begins that."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from tests.faults.proxy import Action
from tests.faults.scene import Scene, stage
from tests.faults.test_given_back import TAKEN_BACK, reasons
from tests.faults.work import QUEUE, submission

pytestmark = pytest.mark.anyio

TRIES = 20
BUSY = [f"busy{number}" for number in range(8)]
BEHIND = [f"t{number}" for number in range(60)]


async def hold_up(scene: Scene, verb: str) -> int:
    """One of two workers runs `first`, which keeps its event loop from turning, and has claimed some of BEHIND after
    it; its process. Both run a task of BUSY: an idle worker asks for one task alone."""
    pids = set[int]()
    for task_id in BUSY:
        scene.rests(2)
        await scene.submit(task_id, text="wait")
        pids.add(scene.started(task_id)[1])
    assert len(pids) == 2
    await scene.store.submit([submission("first", verb), *(submission(each, "echo") for each in BEHIND)])
    _, pid = scene.started("first")
    worker = claimant(scene, "first")
    assert scene.client.hlen(f"{{{QUEUE}}}:worker:{worker}:running") > 2
    return pid


async def test_what_waits_behind_a_handler_that_blocks_the_loop_runs_elsewhere_and_once(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await hold_up(scene, "hold")
        await scene.ran_once(*BEHIND)
        assert TAKEN_BACK in reasons(scene.heard("returned"))
        assert (
            int(scene.pool.until("a silent worker had claimed tasks and not begun them: they were put back")["tasks"])
            > 0
        )
        scene.go("first", *BUSY)
        await scene.ran_once("first", *BUSY)
        await scene.submit("after")
        await scene.completed("after")
        assert {scene.runs(task_id) for task_id in BEHIND} == {1}
        assert scene.pool.deaths() == []


async def test_what_an_idle_worker_claims_that_stands_still_runs_elsewhere_and_once(short_path: Path) -> None:
    async with stage(short_path, proxied=True) as scene:
        await scene.submit("stiff", text="stiffen")
        pid, worker = scene.started("stiff")[1], claimant(scene, "stiff")
        await scene.completed("stiff")
        before = await claimed_by(scene, worker, "before")
        waits = scene.proxy.on("pull behind", Action.WATCH, about=worker)
        scene.go(before)
        await scene.completed(before)
        waits.met()
        os.kill(pid, signal.SIGUSR2)
        task_id = await claimed_by(scene, worker, "t")
        scene.happened("returned", task_id)
        scene.go(task_id)
        record = await scene.completed(task_id)
        assert (record.deliveries, record.crashes, record.runs) == (2, 0, 1)
        assert TAKEN_BACK in reasons(scene.heard("returned"))
        scene.go("stiff")
        after = await claimed_by(scene, worker, "after")
        scene.go(after)
        await scene.completed(after)
        assert scene.runs(task_id) == 1
        assert scene.pool.deaths() == []


@pytest.mark.flaky(reruns=2, reason="now and then the worker has read the claim before it stands still")
async def test_what_was_claimed_again_and_not_read_goes_back_and_what_runs_stays(short_path: Path) -> None:
    """One pull claims two tasks again. The worker has run the first before, and runs the second, whose claim the store
    has lost. The worker's event loop stands still before the answer comes."""
    async with stage(short_path, workers=1, proxied=True) as scene:
        await scene.submit("stiff", text="stiffen")
        pid = scene.started("stiff")[1]
        await scene.completed("stiff")
        await scene.submit("again", text="again")
        scene.started("again")
        runs = submission("runs", "wait")
        await scene.set_back(runs)
        unread = scene.proxy.on("pull", Action.DELAY, times=1000)
        await scene.store.submit([runs])
        scene.go("again")
        scene.happened("claimed", "runs", 2)
        scene.happened("claimed", "again", 2)
        os.kill(pid, signal.SIGUSR2)
        scene.happened("returned", "again")
        assert not [event for event in scene.heard("returned") if event["id"] == "runs"]
        unread.end()
        scene.proxy.clear()
        scene.go("stiff", "again", "runs")
        await scene.settled("again", "runs")
        assert (scene.runs("again"), scene.runs("runs")) == (2, 1)
        assert scene.pool.deaths() == []


def claimant(scene: Scene, task_id: str) -> str:
    """The incarnation that has claimed this task first."""
    return scene.happened("claimed", task_id)["detail"].split(":")[1]


async def claimed_by(scene: Scene, worker: str, prefix: str) -> str:
    """Submit tasks until this worker, of two, claims one: bells go to the worker that has waited longest."""
    for number in range(TRIES):
        task_id = f"{prefix}{number}"
        await scene.submit(task_id, text="wait")
        if claimant(scene, task_id) == worker:
            return task_id
        scene.go(task_id)
        await scene.completed(task_id)
        scene.rests(2)
    raise AssertionError(f"{worker} claims nothing")


async def test_what_waits_in_a_process_that_stops_again_and_again_runs_elsewhere_and_once(short_path: Path) -> None:
    async with stage(short_path) as scene:
        pid = await hold_up(scene, "halt_once")
        await scene.ran_once(*BEHIND)
        assert TAKEN_BACK in reasons(scene.heard("returned"))
        os.kill(pid, signal.SIGKILL)
        record = await scene.completed("first")
        assert (record.deliveries, record.crashes) == (2, 1)
        scene.go(*BUSY, *BUSY)  # the first word may be for a handler that is gone
        await scene.settled(*BUSY)
        assert {scene.runs(task_id) for task_id in BEHIND} == {1}
