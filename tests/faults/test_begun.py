"""A worker dies with tasks that it had begun and tasks that it had not: the death counts for the first alone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.core import begun_page
from holdfast.core.acceptance import Accepted
from holdfast.core.task_states import State
from holdfast.os.processes import boot_id
from holdfast_config.kill_spec import Point
from tests.faults.network import kill_worker
from tests.faults.process import Pool
from tests.faults.proxy import Action
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE, submission

pytestmark = pytest.mark.anyio

PAGES = "incarnations/*.begun"


def counted(scene: Scene, task_id: str) -> tuple[int, int]:
    """Its crashes, and its recoveries in a row."""
    crashes, recoveries = scene.client.hmget(f"{{{QUEUE}}}:task:{task_id}", "crashes", "recoveries")
    return int(crashes or 0), int(recoveries or 0)


def die_with_an_unread_claim(scene: Scene) -> None:
    """Task t ends a run; the answer claims it again, and the worker dies before it has read that. No crash counts."""
    unread = scene.proxy.on("pull", Action.DELAY, times=1000)
    scene.go("t")
    scene.happened("claimed", "t", 2)
    kill_worker(scene, unread.end)
    scene.proxy.clear()
    assert counted(scene, "t") == (0, 0)


async def test_a_crash_is_charged_to_what_had_begun_alone(short_path: Path) -> None:
    async with stage(short_path, workers=1, kill_at=[Point.PULLED]) as scene:
        await scene.submit("begun", text="wait")
        scene.started("begun")
        await scene.submit("ended")
        await scene.completed("ended")
        scene.pool.order(Point.PULLED)
        await scene.submit("claimed", text="wait")
        scene.pool.until("recovered", tasks=2)  # else it stops as if these were cut off
        scene.happened("claimed", "claimed", 2)
        assert counted(scene, "begun") == (1, 1)
        assert counted(scene, "claimed") == (0, 0)
        assert scene.happened("recovered", "claimed")["detail"].startswith("signal: SIGKILL, before it had begun ")
        scene.go("begun", "claimed")
        assert [one.deliveries for one in await scene.settled("begun", "claimed")] == [2, 2]
        pages = [path.stem for path in scene.pool.runtime_dir.glob(PAGES)]
        assert len(pages) == 1  # the page of a dead worker goes with it


async def test_a_task_whose_handler_was_not_called_yet_is_not_charged(short_path: Path) -> None:
    """All are claimed in one pull of a worker that runs something, as an idle one asks for one task; the first ends the
    worker as soon as its handler is called."""
    others = [f"t{number}" for number in range(5)]
    async with stage(short_path, workers=1) as scene:
        await scene.submit("busy", text="wait")
        scene.started("busy")
        await scene.store.submit([submission("first", "end_once 0"), *(submission(each, "echo") for each in others)])
        records = await scene.settled("first", *others)
        assert [record.crashes for record in records] == [1, 0, 0, 0, 0, 0]
        assert [record.deliveries for record in records] == [2] * 6
        scene.go("busy", "busy")  # the first word may be for the handler that is gone
        await scene.completed("busy")


async def test_the_next_start_counts_a_recovery_for_what_had_begun_alone(short_path: Path) -> None:
    async with stage(short_path, workers=1, lease=600.0, kill_at=[Point.PULLED]) as scene:
        await scene.submit("begun", text="wait")
        scene.started("begun")
        first = scene.pool
        first.send(signal.SIGSTOP)  # it must not see them die
        os.kill(first.pid_of("steward"), signal.SIGKILL)
        first.order(Point.PULLED)
        await scene.submit("claimed", text="wait")
        scene.happened("claimed", "claimed")
        os.kill(first.pid, signal.SIGKILL)
        first.process.wait()
        scene.pool = Pool(short_path, scene.url, **scene.flags)
        try:
            scene.pool.until("orphaned worker recovered", tasks=2)
            scene.happened("claimed", "claimed", 2)
            assert counted(scene, "begun") == (0, 1)
            assert counted(scene, "claimed") == (0, 0)
            scene.go("begun", "claimed")
            await scene.settled("begun", "claimed")
        finally:
            first.close()


async def test_what_has_ended_is_charged_until_the_store_knows_its_end(short_path: Path) -> None:
    """A task may end its worker just after its handler has returned."""
    async with stage(short_path, workers=1, kill_at=[Point.BEFORE_SETTLE]) as scene:
        scene.pool.order(Point.BEFORE_SETTLE)
        await scene.submit("t")
        scene.pool.until("recovered", tasks=1)
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (2, 1)


async def test_a_later_turn_has_not_begun_because_an_earlier_one_had(short_path: Path) -> None:
    async with stage(short_path, workers=1, kill_at=[Point.PULLED]) as scene:
        await scene.submit("t", text="ask")
        scene.happened("settled", "t")
        scene.rests()
        (page,) = scene.pool.runtime_dir.glob(PAGES)
        while begun_page.read(page.read_bytes(), boot_id()):  # the worker may still read the answer to its settlement
            scene.news(0.02)
        scene.pool.order(Point.PULLED)
        await scene.store.submit([submission("t", "echo")])
        scene.pool.until("recovered", tasks=1)
        assert counted(scene, "t") == (0, 0)
        scene.happened("settled", "t", 2)


@pytest.mark.flaky(reruns=2, reason="now and then the worker has read the claim before the proxy holds its answer")
async def test_a_retry_that_was_claimed_and_not_read_is_not_charged(short_path: Path) -> None:
    """The answer that settles a run brings the claim of the next one; its worker dies before it has read it."""
    async with stage(short_path, workers=1, proxied=True) as scene:
        await scene.submit("t", text="again")
        scene.started("t")
        die_with_an_unread_claim(scene)
        assert ", before it had begun " in scene.happened("recovered", "t")["detail"]
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, record.runs, record.attempts, scene.runs("t")) == (3, 2, 1, 2)


@pytest.mark.flaky(reruns=2, reason="now and then the worker has read the claim before the proxy holds its answer")
async def test_a_turn_that_was_claimed_behind_another_and_not_read_is_not_charged(short_path: Path) -> None:
    async with stage(short_path, workers=1, proxied=True) as scene:
        await scene.submit("t", text="wait")
        scene.started("t")
        assert await scene.store.submit([submission("t", "echo")]) == [Accepted.PENDING]
        die_with_an_unread_claim(scene)
        scene.happened("settled", "t", 2)
        assert scene.runs("t") == 2


async def test_a_running_task_is_charged_under_a_claim_that_its_worker_has_not_read(short_path: Path) -> None:
    """The store has lost the claim under which the task runs, and gives it to the same worker anew."""
    async with stage(short_path, workers=1, proxied=True) as scene:
        await scene.submit("busy", text="wait")
        scene.started("busy")
        runs = submission("t", "wait")
        await scene.set_back(runs)
        unread = scene.proxy.on("pull", Action.DELAY, times=1000)
        await scene.store.submit([runs])
        scene.happened("claimed", "t", 2)
        unread.end()
        kill_worker(scene)
        scene.proxy.clear()
        assert counted(scene, "t") == (1, 1)
        scene.go("t", "busy", "t", "busy")  # the first words may be for handlers that are gone
        await scene.settled("t", "busy")


async def test_what_was_claimed_ahead_is_not_charged_when_its_worker_dies(short_path: Path) -> None:
    """The worker dies as an answer comes that it has asked for while it had work: only what ran has begun."""
    ids = [f"t{number}" for number in range(600)]
    async with stage(short_path, workers=1, kill_at=["pulled:200"]) as scene:
        scene.pool.order(Point.PULLED)
        await scene.submit(*ids, text="quick x")
        scene.pool.until("recovered")
        records = await scene.settled(*ids)
        assert {record.state for record in records} == {State.COMPLETED}
        assert [event for event in scene.heard("recovered") if "before it had begun" in event["detail"]]
        assert {(record.releases, record.attempts) for record in records} == {(0, 0)}


async def test_what_was_claimed_ahead_goes_back_at_a_drain_and_is_no_release(short_path: Path) -> None:
    """Ten tasks hold all places of the worker until it drains, so that what stands behind them cannot have begun."""
    quick, holding = [f"t{number}" for number in range(300)], [f"hold{number}" for number in range(10)]
    behind = [f"b{number}" for number in range(1000)]
    texts = {**dict.fromkeys(quick, "quick x"), **dict.fromkeys(holding, "wait"), **dict.fromkeys(behind, "quick x")}
    async with stage(short_path, workers=1) as scene:
        await scene.store.submit([submission(task_id, text) for task_id, text in texts.items()])
        for task_id in holding:
            scene.started(task_id)
        scene.pool.send()
        scene.pool.until_status(lambda status: status.startswith("draining"))  # the worker has been asked by then
        scene.go(*holding)
        assert scene.ended() == 0
        records = [await scene.record(task_id) for task_id in texts]
        assert {record.state for record in records} == {State.COMPLETED, State.SUBMITTED}
        assert {(record.releases, record.crashes) for record in records} == {(0, 0)}
        left = [record.task_id for record in records if record.state is State.SUBMITTED]
        assert [read.split(":")[0] for read in _entries(scene)] == left


def _entries(scene: Scene) -> list[str]:
    """The ids in the lane, in its order."""
    return [entry.split('"_b":"')[1].split('"')[0] for entry in scene.client.lrange(QUEUE, 0, -1)]
