"""The parent was killed, and its workers finish what they run: a start meanwhile leaves them alone."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import psutil
import pytest

from holdfastd.parent.start_checks import INCARNATIONS
from tests.faults.process import Pool
from tests.faults.scene import stage

pytestmark = pytest.mark.anyio

LAST = "f" * 32  # orphans are looked at in the order of their names: once this one is recovered all were looked at


async def test_next_start_leaves_an_orphan_that_still_works_alone(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.submit("t", text="wait")
        scene.started("t")
        (orphan,) = [each.incarnation for each in scene.pool.status().processes if each.kind == "worker"]
        first = scene.pool
        first.send(signal.SIGKILL)
        first.process.wait()
        (short_path / "run" / INCARNATIONS / f"{LAST}.lock").touch()
        scene.pool = Pool(short_path, scene.url, **scene.flags)
        try:
            scene.pool.until("orphaned worker recovered", incarnation=LAST)
            assert not scene.pool.lines("orphaned worker recovered", incarnation=orphan)
            scene.pool.ready(1)
            scene.go("t")
            record = await scene.completed("t")
            assert (record.deliveries, record.crashes, scene.runs("t")) == (1, 0, 1)
            assert first.ended() == -signal.SIGKILL
        finally:
            first.close()


async def test_next_start_kills_what_a_killed_worker_had_forked_and_recovers_its_task_at_once(short_path: Path) -> None:
    async with stage(short_path, workers=1, lease=600.0) as scene:
        await scene.submit("t", text="fork_once")
        scene.started("t")
        _, worker, child = scene.started("t")
        (orphan,) = [each.incarnation for each in scene.pool.status().processes if each.kind == "worker"]
        first = scene.pool
        first.send(signal.SIGSTOP)  # it must not see them die
        for pid in (worker, first.pid_of("steward"), first.pid):
            os.kill(pid, signal.SIGKILL)
        first.process.wait()
        assert psutil.pid_exists(child)
        scene.pool = Pool(short_path, scene.url, **scene.flags)
        try:
            scene.pool.until(
                "killed the processes that orphaned workers had started", incarnations=[orphan], processes=1
            )
            scene.pool.until("orphaned worker recovered", incarnation=orphan, tasks=1)
            assert not _runs(child)
            record = await scene.completed("t")
            assert (record.deliveries, record.crashes) == (2, 0)
            assert first.ended() == -signal.SIGKILL
        finally:
            first.close()


@pytest.mark.parametrize("verb", ["leave_once", "fork_once"])
async def test_a_worker_that_dies_while_its_parent_stands_still_is_recovered_without_what_it_started(
    short_path: Path, verb: str
) -> None:
    """One process is in its group, the other has left that and carries its incarnation."""
    async with stage(short_path, workers=1, lease=600.0) as scene:
        await scene.submit("t", text=verb)
        scene.started("t")
        _, worker, child = scene.started("t")
        scene.pool.send(signal.SIGSTOP)
        os.kill(worker, signal.SIGKILL)
        detail = scene.happened("recovered", "t")["detail"]
        assert not _runs(child)
        assert detail.startswith("orphaned ")
        scene.pool.send(signal.SIGCONT)
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes, record.runs) == (2, 0, 2)
        scene.pool.until("killed the processes that orphaned workers had started", processes=1)
        scene.pool.until("orphaned worker recovered", tasks=1)


def _runs(pid: int) -> bool:
    """False also for one that is dead and that nobody has reaped."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
