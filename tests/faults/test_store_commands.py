"""Somebody handles the store while the pool works: scripts gone, connections cut, everything flushed, memory full."""

from __future__ import annotations

from pathlib import Path

import pytest

from holdfast.errors import StoreFullError
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE, named_pipe, submission

pytestmark = pytest.mark.anyio

TASKS = [f"t{number}" for number in range(300)]


async def load(scene: Scene) -> None:
    await scene.store.submit([submission(each, "sleep 0.005") for each in TASKS])


async def all_once(scene: Scene) -> None:
    for each in TASKS:
        record = await scene.completed(each)
        assert (record.deliveries, record.crashes) == (1, 0)


async def test_flushed_scripts_are_loaded_again(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await load(scene)
        for each in TASKS[::30]:
            scene.happened("settled", each)
            scene.client.script_flush()
        await all_once(scene)
        assert scene.pool.deaths() == []


async def test_connections_cut_again_and_again_cost_nothing(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await load(scene)
        for each in TASKS[::30]:
            scene.happened("settled", each)
            scene.client.client_kill_filter(_type="normal", skipme=True)
        await all_once(scene)
        assert scene.pool.deaths() == []


async def test_flushed_store_is_a_new_beginning(short_path: Path) -> None:
    async with stage(short_path, lease=1.0) as scene:
        pipe = named_pipe(short_path)
        await scene.submit("lost", text=f"pipe {pipe}")
        with pipe.open("w") as end:
            workers = {worker.incarnation for worker in await scene.store.workers()}
            scene.client.flushall()
            await scene.submit("new")
            await scene.completed("new")
            end.write("nobody asks for this any more")
        for _ in workers:
            scene.pool.until("the store has lost this worker; it registers anew")
        while {worker.incarnation for worker in await scene.store.workers()} != workers:
            scene.news(1.0)
        assert await scene.store.get("lost") is None
        assert scene.pool.deaths() == []


async def test_full_store_refuses_submits_and_lets_running_work_settle(short_path: Path) -> None:
    async with stage(short_path) as scene:
        pipe = named_pipe(short_path)
        await scene.submit("t", text=f"pipe {pipe}")
        await scene.submit("waits", text="quick", delay_ms=50)
        with pipe.open("w") as end:
            scene.client.config_set("maxmemory", "1mb")
            with pytest.raises(StoreFullError):
                await scene.submit("refused")
            end.write("done in a full store")
        await scene.completed("t")
        await scene.completed("waits")
        assert await scene.store.get("refused") is None
        scene.client.config_set("maxmemory", "0")
        await scene.submit("after")
        await scene.completed("after")
        assert scene.pool.deaths() == []


async def test_entry_taken_by_somebody_else_is_put_back(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        await scene.submit("busy", text="wait")
        scene.started("busy")
        await scene.submit("stolen", "next")
        assert b"stolen" in scene.client.lpop(QUEUE).encode()
        scene.happened("put-back", "stolen")
        scene.go("busy")
        await scene.completed("stolen")
        await scene.completed("next")
