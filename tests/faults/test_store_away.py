"""The store is away: at boot, for a while, killed and back again. Nothing restarts for it, nothing is lost."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast.exits import Exit
from tests.faults.network import behind_a_proxy
from tests.faults.process import Pool
from tests.faults.proxy import Action
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE, named_pipe

pytestmark = pytest.mark.anyio

DURABLE = ("--appendonly", "yes", "--appendfsync", "always")


async def test_unreachable_at_boot_ends_with_its_masked_url(short_path: Path) -> None:
    pool = Pool(short_path, "", redis_url="redis://user:hunter2@127.0.0.1:1/0", workers=2)
    try:
        assert pool.ended() == Exit.UNAVAILABLE
        (shown,) = [line["line"] for line in pool.lines("announce")]
        assert "127.0.0.1:1" in shown
        assert "hunter2" not in pool.log_text()
        assert [line["slot"] for line in pool.lines("ready") if line["slot"] != "loader"] == []
    finally:
        pool.close()


@contextmanager
def frozen(scene: Scene) -> Generator[None]:
    scene.signal_server(signal.SIGSTOP)
    try:
        yield
    finally:
        scene.signal_server(signal.SIGCONT)


async def test_store_that_is_frozen_for_a_while_costs_only_time(short_path: Path) -> None:
    async with stage(short_path, lease=1.0, lease_grace=0.2) as scene:
        pipe = named_pipe(short_path)
        await scene.submit("t", text=f"pipe {pipe}")
        with pipe.open("w") as end, frozen(scene):  # once the handler reads
            end.write("done while the store is away")
            end.close()
            scene.pool.until("the store does not answer; waiting", call="pull")
            scene.pool.until_status(lambda status: "cannot be reached" in status)
            assert "cannot be reached" in scene.pool.status().degraded
        record = await scene.completed("t")
        await scene.submit("after")
        await scene.completed("after")
        assert (record.deliveries, record.crashes) == (1, 0)
        assert scene.pool.deaths() == []
        scene.pool.until_status(lambda status: "cannot be reached" not in status)


async def test_a_death_while_the_store_is_away_is_recovered_once_when_it_is_back(short_path: Path) -> None:
    async with stage(short_path, workers=1, redis_answer_timeout=0.5) as scene:
        await scene.submit("t", text="wait")
        _, pid = scene.started("t")
        with frozen(scene):
            os.kill(pid, signal.SIGKILL)
            scene.pool.wait_for("died")
            scene.pool.wait_for("steward is degraded")  # named is the duty that met the trouble first: any of them
        assert scene.started("t")[1] != pid
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (2, 1)
        assert scene.pool.deaths() == ["worker 0: signal: SIGKILL"]


async def test_what_the_status_says_of_a_store_that_is_back_ends_with_the_first_answer(short_path: Path) -> None:
    """Nobody submits anything, and a worker that hears of a steward waits for a bell as long as a minute."""
    async with stage(short_path, server=DURABLE, workers=1, lease=0.3) as scene:
        [worker] = await scene.store.workers()
        key = f"{{{QUEUE}}}:worker:{worker.incarnation}"
        while int(scene.client.hget(key, "heartbeat")) < 3 or not scene.client.hexists(key, "vouched"):
            scene.client.blpop(["nothing"], timeout=0.02)
        heard = int(scene.client.hget(key, "heartbeat"))
        while int(scene.client.hget(key, "heartbeat")) < heard + 2:  # the worker has heard of the steward by then
            scene.client.blpop(["nothing"], timeout=0.02)
        scene.signal_server(signal.SIGKILL)
        scene.pool.until("the store does not answer; waiting", call="listen")
        scene.pool.until_status(lambda status: "cannot be reached" in status)
        scene.serve_again(*DURABLE)
        scene.pool.until_status(lambda status: "cannot be reached" not in status)


async def test_killed_store_with_a_log_on_disk_comes_back_with_everything(short_path: Path) -> None:
    async with stage(short_path, server=DURABLE) as scene:
        pipe = named_pipe(short_path)
        later = [f"later{n}" for n in range(20)]
        await scene.submit("t", text=f"pipe {pipe}")
        with pipe.open("w") as end:
            await scene.submit(*later, text="quick", delay_ms=200)
            scene.signal_server(signal.SIGKILL)
            scene.pool.until("the store does not answer; waiting")
            end.write("done while the store was dead")
        scene.serve_again(*DURABLE)
        await scene.ran_once("t", *later)
        assert scene.pool.deaths() == []


async def test_a_store_that_is_late_for_the_start_is_waited_for() -> None:
    async with behind_a_proxy(workers=2) as scene:
        unheard = scene.proxy.on("PING", Action.DROP, times=3)
        scene.restart().ready(2)
        unheard.wait()
        assert scene.pool.deaths() == []
        await scene.submit("t")
        await scene.completed("t")


async def test_a_store_that_is_unheard_of_for_many_leases_costs_no_process_and_no_run() -> None:
    async with behind_a_proxy(workers=2, lease=0.4, lease_grace=0.1) as scene:
        await scene.submit("t", text="nap 3")
        scene.started("t")
        pids = {process.pid for process in scene.pool.status().processes}
        scene.proxy.cut_off()
        scene.pool.until_status(lambda status: "cannot be reached" in status)
        scene.started("t")  # its nap is over, and nobody can be told
        assert "cannot be reached" in scene.pool.status().degraded
        scene.proxy.heal()
        record = await scene.completed("t")
        await scene.submit("after")
        await scene.completed("after")
        assert (record.deliveries, record.crashes, record.releases) == (1, 0, 0)
        scene.pool.until_status(lambda status: "cannot be reached" not in status)
        assert {process.pid for process in scene.pool.status().processes} == pids
