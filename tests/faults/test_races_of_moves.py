"""The pool makes a move of its own (smaller, newer, gone) while a worker pulls, dies or is recovered."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.core.task_states import State
from holdfast.exits import Exit
from tests.faults.network import behind_a_proxy
from tests.faults.proxy import Action
from tests.faults.scene import stage
from tests.faults.workers import workers_of, workers_once

pytestmark = pytest.mark.anyio

FOR_EVER = 1_000_000


async def test_a_worker_that_is_scaled_away_while_it_pulls_starts_or_returns_what_it_got() -> None:
    """The store has given it a task and the answer is lost when it is asked to leave."""
    async with behind_a_proxy(workers=2, concurrency=1) as scene:
        await scene.submit("busy", text="wait")
        scene.started("busy")
        goes, _ = workers_once(scene, [0, 1])
        await scene.submit("before", text="wait")
        scene.started("before")
        pull = scene.proxy.on("pull behind", Action.CUT, about=goes.incarnation)
        scene.go("before")
        await scene.completed("before")
        pull.met()
        workers_once(scene, [0, 1])
        await scene.submit("t")
        pull.wait()
        assert scene.pool.scale(1).target == 1
        scene.pool.until("ended as ordered")
        scene.go("busy")
        record = await scene.completed("t")
        assert (record.crashes, scene.runs("t"), scene.runs("busy")) == (0, 1, 1)
        assert len(workers_of(scene)) == 1
        assert scene.pool.deaths() == []


async def test_a_drain_ends_when_the_last_recovery_was_heard() -> None:
    async with behind_a_proxy(workers=2, concurrency=1) as scene:
        await scene.submit("a", "b", text="wait")
        pid = scene.started("a")[1]
        scene.started("b")
        recover = scene.proxy.on("recover", Action.DROP, times=FOR_EVER)
        scene.pool.send()
        scene.pool.until("draining")
        os.kill(pid, signal.SIGKILL)
        recover.wait()
        assert (await scene.record("a")).state is State.WORKING
        recover.end()
        scene.go("b")
        assert scene.ended() in {Exit.OK, Exit.CUT_OFF}  # as the dead worker had told what it ran, or had not yet
        record = await scene.record("a")
        assert (record.state, record.crashes, record.releases) == (State.SUBMITTED, 1, 0)
        assert (await scene.completed("b")).deliveries == 1


async def test_a_crash_during_a_reload_is_recovered_and_the_reload_goes_on(short_path: Path) -> None:
    async with stage(short_path, workers=2, concurrency=1) as scene:
        await scene.submit("a", "b", text="wait")
        pid = scene.started("a")[1]
        scene.started("b")
        scene.pool.send(signal.SIGHUP)
        scene.pool.until("reloading")
        os.kill(pid, signal.SIGKILL)
        assert scene.started("a")[0] == 2
        scene.go("a", "b")
        scene.pool.wait_for("reloaded")
        assert ((await scene.completed("a")).crashes, (await scene.completed("b")).deliveries) == (1, 1)
        while {each.generation for each in scene.pool.status().processes if each.kind == "worker"} != {1}:
            scene.news(0.1)
        await scene.submit("after")
        await scene.completed("after")
