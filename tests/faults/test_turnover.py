"""Workers are replaced under load: by a reload, by their tasks, by their memory. Nothing is lost or runs twice."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from threading import Event as Flag
from threading import Thread

import pytest

from holdfastd.control.client import ask
from holdfastd.control.socket_protocol import AskStatus
from tests.faults.scene import Scene, stage

pytestmark = pytest.mark.anyio

ALLOWANCE = 4 << 20  # bytes: what an interpreter takes for a moment beside its tasks


class Watch:
    """Looks at the control socket again and again: the fewest workers that were ready, the pids that ever were."""

    def __init__(self, runtime_dir: Path) -> None:
        self._runtime_dir = runtime_dir
        self._over = Flag()
        self._thread = Thread(target=self._look)
        self.fewest = 1 << 30
        self.looks = 0

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.is_set():
            self.fewest = min(self.fewest, ask(self._runtime_dir, AskStatus()).ready)
            self.looks += 1


async def test_reloads_under_load_keep_all_ready_and_run_nothing_twice(short_path: Path) -> None:
    async with stage(short_path, workers=3, concurrency=2) as scene:
        before = {process.pid for process in scene.pool.status().processes if process.kind == "worker"}
        tasks = [f"t{number}" for number in range(400)]
        with Watch(short_path / "run") as watch:
            await scene.submit(*tasks, text="sleep 0.02")
            for _ in range(3):
                scene.pool.send(signal.SIGHUP)
                scene.pool.until("reloaded")
            await scene.ran_once(*tasks)
        assert watch.fewest == 3
        assert watch.looks > 10
        after = {process.pid for process in scene.pool.status().processes if process.kind == "worker"}
        assert not before & after


async def test_an_old_worker_finishes_a_long_task_after_a_reload(short_path: Path) -> None:
    async with stage(short_path, workers=1, drain_timeout=0.2) as scene:
        await scene.submit("long", text="wait")
        _, old = scene.started("long")
        scene.pool.send(signal.SIGHUP)
        scene.pool.until("reloaded")
        await scene.submit("next")
        assert scene.started("next")[1] != old
        await scene.completed("next")
        scene.go("long")
        assert (await scene.completed("long")).deliveries == 1


async def test_a_kill_of_the_canary_costs_nothing(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.submit("long", text="wait")
        scene.started("long")
        scene.pool.send(signal.SIGHUP)
        scene.pool.until("reloading")
        os.kill(_canary(scene), signal.SIGKILL)
        scene.pool.until("reloaded")
        scene.go("long")
        assert (await scene.completed("long")).crashes == 0


def _canary(scene: Scene) -> int:
    """The process id of the first worker with the new code, which is forked once a loader has imported that."""
    while True:
        for process in scene.pool.status().processes:
            if process.kind == "worker" and process.generation == 1:
                return process.pid


async def test_no_worker_runs_more_than_its_tasks(short_path: Path) -> None:
    async with stage(short_path, workers=2, concurrency=4, max_tasks=20) as scene:
        tasks = [f"t{number}" for number in range(300)]
        with Watch(short_path / "run") as watch:
            await scene.submit(*tasks, text="sleep 0.005")
            await scene.ran_once(*tasks)
        assert watch.fewest == 2
        recycled = [death for death in scene.pool.status().deaths.recent if death.cause == "recycled"]
        assert len(recycled) >= 300 // 20 - 3
        assert {int(death.detail.removesuffix(" tasks")) for death in recycled} <= set(range(18, 21))


async def test_a_leaking_worker_is_replaced_before_it_has_grown_too_large(short_path: Path) -> None:
    limit = 256 << 20
    async with stage(short_path, workers=2, concurrency=4, max_memory="256MB") as scene:
        tasks = [f"t{number}" for number in range(200)]  # of some fifteen a life: some lives are over for certain
        await scene.submit(*tasks, text="leak 10")
        await scene.ran_once(*tasks)
        deaths = scene.pool.status().deaths.recent
        assert len(deaths) >= 3
        assert {death.cause for death in deaths} == {"recycled"}
        assert all(death.detail.startswith("memory ") for death in deaths)
        assert max(death.peak_bytes or 0 for death in deaths) < limit + ALLOWANCE


async def test_the_first_tasks_of_a_life_do_not_carry_it_past_its_memory(short_path: Path) -> None:
    limit = 128 << 20
    async with stage(short_path, workers=2, concurrency=20, max_memory="128MB") as scene:
        tasks = [f"t{number}" for number in range(60)]
        await scene.submit(*tasks, text="leak 10")
        await scene.ran_once(*tasks)
        peaks = [death.peak_bytes or 0 for death in scene.pool.status().deaths.recent]
        assert len(peaks) >= 3
        assert max(peaks) < limit + ALLOWANCE


async def test_a_first_task_that_runs_long_does_not_keep_others_waiting(short_path: Path) -> None:
    async with stage(short_path, workers=1, max_memory="400MB", redis_poll_timeout=60.0) as scene:
        await scene.submit("long", "other", text="wait")
        waiting = {"long", "other"}
        for task_id in waiting:
            scene.started(task_id)
        scene.go(*waiting)
        await scene.ran_once(*waiting)


async def test_a_limit_below_a_workers_own_memory_is_told_at_boot(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        pool = scene.restart(max_memory="20MB")
        assert pool.ended() == 78
        scene.stopped = True
        lines = [line["line"] for line in pool.lines("announce") if "max_memory" in line["line"]]
        assert lines
        assert all("before its first task" in line for line in lines)
