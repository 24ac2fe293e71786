"""The steward dies: idle, or between hearing of a death and having recorded it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast_config.kill_spec import Point
from tests.faults.scene import stage

pytestmark = pytest.mark.anyio


async def test_idle_steward_is_replaced_and_its_duties_go_on(short_path: Path) -> None:
    async with stage(short_path) as scene:
        os.kill(scene.pool.pid_of("steward"), signal.SIGKILL)
        scene.pool.until("ready", slot="steward")
        await scene.submit("later", delay_ms=50)
        scene.happened("promoted", "later")
        await scene.completed("later")
        assert scene.pool.deaths() == ["steward: signal: SIGKILL"]


async def test_death_told_to_a_steward_that_dies_is_recovered_once_by_the_next(short_path: Path) -> None:
    async with stage(short_path, log_level="debug") as scene:  # where nothing was left to put back, info is silent
        await scene.submit("t", text="wait")
        _, pid = scene.started("t")
        scene.signal_server(signal.SIGSTOP)  # the steward asks, and gets no answer
        os.kill(pid, signal.SIGKILL)
        scene.pool.until("died", pid=pid)
        os.kill(scene.pool.pid_of("steward"), signal.SIGKILL)
        scene.pool.until("died", slot="steward")
        scene.pool.until("ready", slot="steward")
        scene.signal_server(signal.SIGCONT)  # what the dead one asked for is still in its socket
        delivery, second = scene.started("t")
        scene.go("t")
        record = await scene.completed("t")
        scene.pool.until("worker recovered")
        assert second != pid
        assert (delivery, scene.runs("t"), record.deliveries, record.crashes) == (2, 2, 2, 1)


@pytest.mark.parametrize("point", [Point.BEFORE_RECOVER, Point.RECOVER_SENT, Point.RECOVERED])
async def test_steward_killed_at(point: Point, short_path: Path) -> None:
    async with stage(short_path, kill_at=[point], log_level="debug") as scene:
        await scene.submit("t", text="wait")
        _, pid = scene.started("t")
        scene.pool.order(point)
        os.kill(pid, signal.SIGKILL)
        scene.pool.until("died", slot="steward", cause="signal: SIGKILL")
        scene.pool.wait_for("worker recovered")  # by the next one, told again, perhaps before the parent logs it ready
        delivery, second = scene.started("t")
        scene.go("t")
        record = await scene.completed("t")
        assert second != pid
        assert (delivery, scene.runs("t"), record.deliveries, record.crashes) == (2, 2, 2, 1)
        assert len([e for e in scene.heard("worker-died") if "SIGKILL" in e["detail"]]) == 1


async def test_steward_and_worker_killed_together(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await scene.submit("t", text="wait")
        _, pid = scene.started("t")
        os.kill(scene.pool.pid_of("steward"), signal.SIGKILL)
        os.kill(pid, signal.SIGKILL)
        assert scene.started("t")[1] != pid
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (2, 1)


async def test_workers_are_replaced_while_the_steward_dies_again_and_again(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await scene.submit("t", text="wait")
        _, pid = scene.started("t")
        for _ in range(3):
            os.kill(scene.pool.pid_of("steward"), signal.SIGKILL)
            scene.pool.until("died", slot="steward")
            scene.pool.until("ready", slot="steward")
        os.kill(scene.pool.pid_of("steward"), signal.SIGKILL)
        scene.pool.until("died", slot="steward")  # and the next one has to wait
        os.kill(pid, signal.SIGKILL)
        gone = scene.pool.until("died", pid=pid)["slot"]
        scene.pool.until("ready", slot=gone)
        assert scene.started("t")[1] != pid  # once a steward has stayed
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (2, 1)
