"""A pool is asked to end: in time, too late, twice, three times, with a fault in between; or to become smaller."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from holdfast.core.task_states import State
from holdfast.exits import Exit
from holdfast_config.kill_spec import Point
from tests.faults.kin import wait_dead
from tests.faults.process import Pool
from tests.faults.scene import stage

pytestmark = pytest.mark.anyio


async def test_idle_pool_ends(short_path: Path) -> None:
    async with stage(short_path) as scene:
        assert scene.stop() == 0
        assert scene.pool.deaths() == []


async def test_busy_pool_finishes_what_runs_and_puts_nothing_back(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await scene.submit("a", "b", text="wait")
        scene.started("a")
        scene.started("b")
        scene.pool.send()
        scene.pool.until("draining")
        scene.go("a", "b")
        assert scene.ended() == 0
        for task_id in ("a", "b"):
            record = await scene.completed(task_id)
            assert (record.deliveries, record.releases) == (1, 0)


async def test_stop_of_a_parent_that_is_stopped_itself_meanwhile_is_only_late(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.submit("t", text="wait")
        _, worker = scene.started("t")
        scene.pool.send()
        scene.pool.until_status(lambda status: status.startswith("draining"))  # everybody has been asked by then
        scene.pool.send(signal.SIGSTOP)
        scene.go("t")
        wait_dead(worker)
        scene.pool.send(signal.SIGCONT)
        assert scene.ended() == 0
        record = await scene.completed("t")
        assert (record.deliveries, record.releases) == (1, 0)
        assert scene.pool.deaths() == []


async def test_what_cannot_finish_in_time_is_released_in_order(short_path: Path) -> None:
    async with stage(short_path, workers=1, drain_timeout=10.0) as scene:
        await scene.submit("a", "b", "c", text="wait")
        for task_id in ("a", "b", "c"):
            scene.started(task_id)
        await scene.submit("d", text="echo", delay_ms=3_600_000)
        assert scene.stop() == Exit.CUT_OFF
        for task_id in ("a", "b", "c"):
            record = await scene.record(task_id)
            assert (record.state, record.releases, record.crashes) == (State.SUBMITTED, 1, 0)
        entries = await scene.store.peek_entries("faults", 10)
        assert [entry[7:8] for entry in entries] == [b"a", b"b", b"c"]


async def test_second_signal_cancels_what_runs(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await scene.submit("t", text="wait")
        scene.started("t")
        scene.pool.send()
        scene.pool.until("draining")
        scene.pool.send()
        assert scene.ended() == Exit.CUT_OFF
        record = await scene.record("t")
        assert (record.state, record.releases) == (State.SUBMITTED, 1)


async def test_third_signal_kills_what_does_not_let_go(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await scene.submit("t", text="stubborn")
        scene.started("t")
        for event in ("draining", "drain was shortened: handlers are cancelled", "killing all remaining processes"):
            scene.pool.send()
            scene.pool.until(event)
        assert scene.ended() == Exit.CUT_OFF
        scene.restart().ready(2)
        assert scene.started("t")[0] == 2
        scene.go("t")
        record = await scene.completed("t")
        assert record.crashes == 0
        assert scene.stop() == 0


async def test_worker_killed_while_draining_costs_its_other_tasks_one_crash(short_path: Path) -> None:
    async with stage(short_path, workers=1, kill_at=[Point.DRAIN]) as scene:
        await scene.submit("a", "b", text="wait")
        scene.started("a")
        scene.started("b")
        scene.pool.order(Point.DRAIN)
        scene.pool.send()
        scene.pool.until("draining")
        scene.go("a")
        assert scene.ended() == Exit.CUT_OFF
        for task_id in ("a", "b"):
            record = await scene.record(task_id)
            assert (record.state, record.crashes, record.releases) == (State.SUBMITTED, 1, 0)


async def test_cancel_during_a_drain_is_one_of_the_two_never_both(short_path: Path) -> None:
    async with stage(short_path, drain_timeout=0.3) as scene:
        tasks = [f"t{n}" for n in range(8)]
        await scene.submit(*tasks, text="wait")
        for task_id in tasks:
            scene.started(task_id)
        scene.pool.send()
        scene.pool.until("draining")
        answers = {task_id: await scene.store.cancel(task_id, "test") for task_id in tasks[:4]}
        scene.ended()
        assert set(answers.values()) == {"canceled"}
        states = [(await scene.record(task_id)).state for task_id in tasks]
        assert states == [State.CANCELED] * 4 + [State.SUBMITTED] * 4


async def test_worker_that_is_scaled_away_completes_what_it_runs(short_path: Path) -> None:
    async with stage(short_path, concurrency=1) as scene:
        await scene.submit("a", "b", text="wait")
        pids = {scene.started("a")[1], scene.started("b")[1]}
        assert len(pids) == 2
        assert scene.pool.scale(1).target == 1
        scene.pool.until("scaling")
        scene.go("a", "b")
        left = scene.pool.until("ended as ordered")
        assert left["pid"] in pids
        for task_id in ("a", "b"):
            record = await scene.completed(task_id)
            assert (record.deliveries, record.releases) == (1, 0)
        status = scene.pool.status()
        assert (status.ready, status.target) == (1, 1)


async def test_second_start_is_refused_and_the_first_untouched(short_path: Path) -> None:
    async with stage(short_path) as scene:
        second = Pool(short_path, scene.url, **scene.flags)
        assert second.ended() == Exit.RUNNING
        second.close()
        (line,) = second.lines("announce")
        assert str(short_path / "run") in line["line"]
        await scene.submit("t")
        await scene.completed("t")
        assert scene.pool.deaths() == []


async def test_hang_up_while_draining_changes_nothing(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await scene.submit("t", text="wait")
        scene.started("t")
        scene.pool.send()
        scene.pool.until("draining")
        for number in (signal.SIGHUP, signal.SIGTTIN):
            scene.pool.send(number)
        scene.pool.until("scaling refused")
        scene.go("t")
        assert scene.ended() == 0
        await scene.completed("t")
