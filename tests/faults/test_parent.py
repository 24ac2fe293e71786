"""The parent is killed: its children leave by themselves, and the next start puts back what they held."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.core.task_states import State
from holdfast_config.kill_spec import Point
from tests.faults.process import PATIENCE, Pool
from tests.faults.scene import stage
from tests.faults.work import named_pipe

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


async def test_a_host_that_was_suspended_past_its_lease_loses_its_tasks_and_commits_nothing(short_path: Path) -> None:
    """Its workers hear that they were declared dead, cancel what they hold, and end; others take their seats."""
    async with stage(short_path, workers=1, lease=0.6, lease_grace=0.2) as scene:
        await scene.submit("t", text="wait")
        scene.started("t")
        everybody = [scene.pool.pid, *(process.pid for process in scene.pool.status().processes)]
        for pid in everybody:
            os.kill(pid, signal.SIGSTOP)
        (short_path / "other").mkdir()
        other = Pool(short_path / "other", scene.url, **{**scene.flags, "redis_url": scene.url})
        try:
            assert scene.started("t")[0] == 2  # on the other host
            for pid in everybody:
                os.kill(pid, signal.SIGCONT)
            scene.pool.until("the store has declared this worker dead; it cancels everything and ends")
            scene.pool.until("died", cause="fenced: status 82")
            scene.go("t")
            record = await scene.completed("t")
            assert (record.deliveries, record.crashes) == (2, 0)
        finally:
            other.stop()
            other.close()


async def test_what_they_cannot_finish_they_release_for_the_next_start(short_path: Path) -> None:
    async with stage(short_path, drain_timeout=10.0) as scene:
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


async def test_parent_killed_between_a_fork_and_its_first_look_at_the_child_leaves_nobody(short_path: Path) -> None:
    async with stage(short_path, kill_at=[Point.FORKED]) as scene:
        await scene.submit("t", text="wait")
        scene.started("t")
        scene.pool.order(Point.FORKED)
        scene.pool.send(signal.SIGTTIN)  # one worker more
        scene.go("t")
        assert scene.pool.ended() == -signal.SIGKILL
        record = await scene.completed("t")
        assert (record.deliveries, scene.runs("t")) == (1, 1)
        scene.restart()
        for _ in range(2):  # or three: the last was seen by the kernel alone
            scene.pool.until("orphaned worker recovered", tasks=0)
        scene.pool.ready(2)
        await scene.submit("after")
        await scene.completed("after")


async def test_worker_killed_before_the_store_knows_of_it_is_replaced(short_path: Path) -> None:
    async with stage(short_path, kill_at=[Point.FORK]) as scene:
        scene.pool.order(Point.FORK)
        scene.pool.send(signal.SIGTTIN)
        killed = scene.pool.until("died", cause="signal: SIGKILL")["slot"]
        scene.pool.until("ready", slot=killed)
        await scene.submit("t")
        assert (await scene.completed("t")).crashes == 0


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


async def test_killed_embedded_store_is_started_again_with_everything_it_had(short_path: Path) -> None:
    async with stage(short_path, embedded=True) as scene:
        pipe = named_pipe(short_path)
        await scene.submit("t", text=f"pipe {pipe}")
        await scene.submit(*(f"waits{n}" for n in range(50)), delay_ms=3_600_000)
        with pipe.open("w") as end:
            scene.client.set("last", "before the end")
            assert (
                scene.client.execute_command("WAITAOF", 1, 0, round(PATIENCE * 1000))[0] == 1
            )  # it is written each second
            os.kill(scene.pool.pid_of("store"), signal.SIGKILL)
            scene.pool.until("died", slot="store")
            end.write("done while the store was dead")
        scene.pool.until("ready", slot="store")
        await scene.counts()  # it answers once it has loaded what it had
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (1, 0)
        assert (await scene.counts()).states[State.DELAYED] == 50
        assert scene.pool.deaths() == ["store: signal: SIGKILL"]
