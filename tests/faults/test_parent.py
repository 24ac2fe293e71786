"""The parent is killed: its children leave by themselves, and the next start puts back what they held."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.core.states import State
from tests.faults.scene import stage

pytestmark = pytest.mark.anyio


async def test_children_of_a_killed_parent_finish_what_they_run_and_leave(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await scene.submit("t", text="wait")
        scene.started("t")
        scene.pool.send(signal.SIGKILL)
        scene.go("t")
        assert scene.ended() == -signal.SIGKILL
        record = await scene.completed("t")
        assert (record.deliveries, scene.runs("t")) == (1, 1)


async def test_what_they_cannot_finish_they_release_for_the_next_start(short_path: Path) -> None:
    async with stage(short_path, drain_timeout=0.3) as scene:
        await scene.submit("t", text="wait")
        scene.started("t")
        scene.pool.send(signal.SIGKILL)
        assert scene.pool.ended() == -signal.SIGKILL
        record = await scene.record("t")
        assert (record.state, record.releases, record.crashes) == (State.SUBMITTED, 1, 0)
        scene.restart().ready(2)
        assert scene.started("t")[0] == 2
        scene.go("t")
        await scene.completed("t")


@pytest.mark.parametrize("embedded", [False, True], ids=["given store", "embedded store"])
async def test_next_start_recovers_what_killed_workers_held_uncharged(embedded: bool, short_path: Path) -> None:
    async with stage(short_path, embedded=embedded, drain_timeout=0.3) as scene:
        await scene.submit("a", text="wait")
        await scene.submit("b", text="wait")
        holders = {scene.started("a")[1], scene.started("b")[1]}
        scene.pool.send(signal.SIGSTOP)  # it must not see them die
        for pid in (*holders, scene.pool.pid_of("steward"), scene.pool.pid):
            os.kill(pid, signal.SIGKILL)
        scene.pool.ended()
        scene.restart().ready(2)
        for task_id in ("a", "b"):
            assert scene.started(task_id)[0] == 2
            scene.go(task_id)
            record = await scene.completed(task_id)
            assert (record.deliveries, record.crashes) == (2, 0)


async def test_embedded_store_goes_with_its_parent_and_loses_nothing(short_path: Path) -> None:
    async with stage(short_path, embedded=True, drain_timeout=0.3) as scene:
        await scene.submit("t", text="wait")
        await scene.submit(*(f"waits{n}" for n in range(50)), delay_ms=3_600_000)
        scene.started("t")
        scene.pool.send(signal.SIGKILL)
        scene.pool.ended()
        scene.restart().ready(2)
        scene.started("t")
        scene.go("t")
        await scene.completed("t")
        assert (await scene.counts()).states[State.DELAYED] == 50
