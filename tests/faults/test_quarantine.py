"""Suspects run beside the pool, in workers that are forked for them."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest

from holdfast.core.task_states import State
from holdfastd.control.socket_protocol import ProcessStatus
from tests.faults.process import PATIENCE
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE

pytestmark = pytest.mark.anyio

OTHER = f"{QUEUE}:other"


async def suspect(scene: Scene, *task_ids: str) -> None:
    """Each of these tasks waits in its handler and loses its worker twice, before the next is there.

    So they share no death: the end of one in quarantine clears no other.
    """
    for task_id in task_ids:
        await scene.submit(task_id, text="wait")
        for crash in (1, 2):
            _kill(scene, scene.started(task_id)[1])
            scene.happened("crashed", task_id, crash)


def _kill(scene: Scene, pid: int) -> None:
    os.kill(pid, signal.SIGKILL)
    scene.pool.until("died", pid=pid)


def make_due(scene: Scene, *task_ids: str) -> None:
    """Let the pause after a crash be over: the store's due time is set to now, and the steward told of it."""
    prefix = f"{{{QUEUE}}}:"
    scene.client.zadd(f"{prefix}due", dict.fromkeys(task_ids, 1), xx=True)
    scene.client.rpush(f"{prefix}control:steward", "due")


def quarantined(scene: Scene) -> list[ProcessStatus]:
    return [process for process in scene.pool.status().processes if process.kind == "quarantine"]


async def test_a_suspect_runs_in_a_worker_beside_the_pool_which_ends_when_none_waits(short_path: Path) -> None:
    async with stage(short_path, workers=2) as scene:
        await suspect(scene, "s")
        make_due(scene, "s")
        delivery, pid = scene.started("s")
        (process,) = quarantined(scene)
        assert (delivery, process.pid, process.running) == (3, pid, ["s"])
        scene.pool.ready(4)
        assert scene.pool.status().ready == 2
        scene.go("s")
        assert (await scene.completed("s")).crashes == 2
        scene.pool.until("ended as ordered", slot="quarantine 0", cause="requested: no suspect waits")
        assert len(scene.pool.deaths()) == 2


async def test_suspects_and_long_tasks_keep_no_worker_of_the_pool_from_what_waits(short_path: Path) -> None:
    async with stage(short_path, workers=2, concurrency=2) as scene:
        await suspect(scene, "s0", "s1")
        await scene.submit("long0", "long1", text="wait")
        scene.started("long0")
        scene.started("long1")
        make_due(scene, "s0", "s1")
        scene.started("s0")
        others = [f"other{number}" for number in range(100)]
        await scene.submit(*others)
        for other in others:
            await scene.completed(other)
        assert [(await scene.record(task)).state for task in ("long0", "long1", "s0")] == [State.WORKING] * 3
        assert scene.pool.status().quarantine.most == 1
        scene.go("long0", "long1", "s0", "s1")
        assert (await scene.completed("s1")).crashes == 2


async def test_64_suspects_in_a_paused_lane_do_not_starve_the_suspect_of_another(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=65, lanes=f"{QUEUE},{OTHER}") as scene:
        many = [f"many{number}" for number in range(64)]
        await scene.submit(*many, text="wait")
        await scene.submit("one", text="wait", lane=OTHER)
        for crash in (1, 2):
            pids = {scene.started(task_id)[1] for task_id in (*many, "one")}
            for pid in pids:
                _kill(scene, pid)
            scene.happened("crashed", "one", crash)
        await scene.store.pause_lane(QUEUE, "test")
        make_due(scene, *many, "one")
        assert scene.started("one")[0] == 3
        scene.go("one")
        assert (await scene.completed("one")).crashes == 2
        assert {(await scene.record(task_id)).state for task_id in many} == {State.SUBMITTED}
        await scene.store.resume_lane(QUEUE)
        scene.go(*many)
        for task_id in many:
            await scene.completed(task_id)


async def test_a_quiet_host_starts_no_suspect_and_says_so_until_it_goes_on(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await suspect(scene, "s")
        await scene.store.quiet_host(socket.gethostname(), "op@desk", "repairs")
        make_due(scene, "s")
        scene.happened("promoted", "s")
        while not (held_back := scene.pool.status().quarantine.held_back):
            scene.news(0.05)
        assert held_back.startswith("this host is quiet")
        assert quarantined(scene) == []
        await scene.store.resume_host(socket.gethostname(), "op@desk")
        scene.started("s")
        scene.go("s")
        await scene.completed("s")


async def test_on_a_reload_it_finishes_its_suspect_and_ends(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await suspect(scene, "s")
        make_due(scene, "s")
        _, pid = scene.started("s")
        scene.pool.send(signal.SIGHUP)
        scene.pool.until("reloaded")
        assert [(process.pid, process.running) for process in quarantined(scene)] == [(pid, ["s"])]
        scene.go("s")
        record = await scene.completed("s")
        assert (record.deliveries, record.crashes) == (3, 2)
        scene.pool.until("ended as ordered", slot="quarantine 0", pid=pid, cause="requested: reloaded")


async def test_a_stop_waits_for_a_suspect_as_for_any_task(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await suspect(scene, "s")
        make_due(scene, "s")
        scene.started("s")
        scene.pool.send(signal.SIGTERM)
        scene.pool.until("draining")
        scene.go("s")
        assert scene.ended() == 0
        assert (await scene.record("s")).state is State.COMPLETED


async def test_49_innocents_beside_a_poison_task_are_done_before_it_is_given_up(short_path: Path) -> None:
    """Tasks that died with it are suspects, too; its next death, alone, clears them; the pool runs them at once."""
    async with stage(short_path, workers=2, concurrency=50) as scene:
        innocents = [f"innocent{number}" for number in range(49)]
        await scene.submit(*innocents[:5], text="wait")
        await scene.submit("poison", text="poison")
        await scene.submit(*innocents[5:], text="wait")
        scene.happened("crashed", "poison", 2)
        scene.go(*innocents[:5])  # they may come before it in quarantine
        make_due(scene, "poison")
        scene.happened("crashed", "poison", 3)
        scene.go(*innocents[5:])
        records = [await scene.completed(task_id) for task_id in innocents]
        assert any(" cleared poison" in line for record in records for line in record.trail)
        assert {record.crashes for record in records[5:]} == {0}
        make_due(scene, "poison")
        scene.happened("dead-letter", "poison")
        assert (await scene.record("poison")).crashes == 4
        told = scene.pool.until("a task became a dead letter: it has ended too many workers", task="poison")
        assert told["level"] == "error"
        assert {line["level"] for line in scene.pool.lines("died")} == {"error"}
        in_quarantine = [death for death in scene.pool.status().deaths.recent if death.kind == "quarantine"]
        assert [death.running for death in in_quarantine] == [["poison"]] * 2  # held: no young deaths, however soon


async def test_a_task_that_takes_the_whole_supervisor_down_is_a_dead_letter_after_six_starts(short_path: Path) -> None:
    """Nobody is there to charge it. The third recovery makes it a suspect, and those in flight with it; one after the
    other runs alone then, and whoever is no poison completes."""
    async with stage(short_path, workers=2) as scene:
        await scene.submit("poison", text="fell")
        innocents = [f"innocent{number}" for number in range(4)]
        await scene.submit(*innocents, text="wait")
        for start in range(1, 7):
            assert scene.started("poison")[0] == start
            scene.pool.process.wait(PATIENCE)
            scene.restart()
            if start == 3:
                scene.happened("suspected", "poison")
            elif start > 3:
                scene.happened("crashed", "poison", start - 3)
            if start == 4:
                scene.go(*innocents)
                for innocent in innocents:
                    await scene.completed(innocent)
            make_due(scene, "poison")
        scene.happened("dead-letter", "poison")
        record = await scene.record("poison")
        assert (record.state, record.dead, record.deliveries) == (State.FAILED, True, 6)
        scene.pool.until("a task became a dead letter: it has ended too many workers", task="poison")
