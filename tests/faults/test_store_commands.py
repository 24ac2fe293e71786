"""Somebody handles the store while the pool works: scripts gone, connections cut, everything flushed, memory full."""

from __future__ import annotations

from pathlib import Path

import pytest
import redis

from holdfast.core.acceptance import Accepted
from holdfast.errors import StoreFullError
from holdfast.store.redis import RedisStore
from holdfast.store.redis.scripts import text
from holdfast_config import RedisSettings
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE, entry, named_pipe, submission

pytestmark = pytest.mark.anyio

TASKS = [f"t{number}" for number in range(300)]
ANOTHER = text("constants") + "T = T .. ''\n"


async def load(scene: Scene) -> None:
    await scene.store.submit([submission(each, "sleep 0.005") for each in TASKS])


async def test_flushed_scripts_are_loaded_again(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await load(scene)
        for each in TASKS[::30]:
            scene.happened("settled", each)
            scene.client.script_flush()
        await scene.ran_once(*TASKS)
        assert scene.pool.deaths() == []


async def test_connections_cut_again_and_again_cost_nothing(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await load(scene)
        for each in TASKS[::30]:
            scene.happened("settled", each)
            scene.client.client_kill_filter(_type="normal", skipme=True)
        await scene.ran_once(*TASKS)
        assert scene.pool.deaths() == []


async def test_flushed_store_is_a_new_beginning(short_path: Path) -> None:
    async with stage(short_path, lease=1.0) as scene:
        pipe = named_pipe(short_path)
        await scene.submit("lost", text=f"pipe {pipe}")
        with pipe.open("w") as end:
            workers = {worker.incarnation for worker in await scene.store.workers()}
            scene.steward_knows_the_store()
            scene.client.flushall()
            await scene.submit("new")
            await scene.completed("new")
            end.write("nobody asks for this any more")
        scene.pool.wait_for("the store has lost this worker; it registers anew", times=len(workers))
        await scene.says_that_it_came_back_empty()
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


@pytest.mark.parametrize("mode", ["WRITE", "ALL"])
async def test_paused_clients_cost_only_time(short_path: Path, mode: str) -> None:
    async with stage(short_path, lease=0.4, lease_grace=0.1) as scene:
        await load(scene)
        scene.happened("settled", TASKS[0])
        scene.client.execute_command("CLIENT", "PAUSE", "1000", mode)  # longer than lease and grace
        await scene.ran_once(*TASKS)
        assert scene.pool.deaths() == []


async def test_a_server_that_sleeps_past_the_lease_makes_nobody_dead(short_path: Path) -> None:
    async with stage(short_path, server=("--enable-debug-command", "yes"), lease=0.4, lease_grace=0.1) as scene:
        await load(scene)
        scene.happened("settled", TASKS[0])
        scene.client.execute_command("DEBUG", "SLEEP", "1")
        await scene.ran_once(*TASKS)
        assert scene.pool.deaths() == []


async def test_deleted_bells_and_hints_cost_a_moment(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await load(scene)
        for each in TASKS[::30]:
            scene.happened("settled", each)
            for pattern in ("bell:*", "control:*"):
                for key in scene.client.scan_iter(f"{{{QUEUE}}}:{pattern}"):
                    scene.client.delete(key)
        await scene.ran_once(*TASKS)
        assert scene.pool.deaths() == []


async def test_a_foreign_push_into_a_full_store_is_refused_to_its_producer(short_path: Path) -> None:
    async with stage(short_path) as scene:
        scene.client.config_set("maxmemory", "1mb")
        with pytest.raises(redis.OutOfMemoryError):
            scene.client.rpush(QUEUE, entry("refused", "quick"))
        scene.client.config_set("maxmemory", "0")
        scene.client.rpush(QUEUE, entry("accepted", "quick"))
        await scene.completed("accepted")
        assert await scene.store.get("refused") is None


async def test_two_versions_of_the_scripts_work_on_one_queue(short_path: Path) -> None:
    """As while hosts are upgraded one after another: scripts go by their digests, only the schema must be the same."""
    async with stage(short_path) as scene:
        other = RedisStore(RedisSettings(scene.url, 10, QUEUE), {"constants": ANOTHER})
        await load(scene)
        assert await other.submit([submission("other", "quick")]) == [Accepted.NEW]
        await other.aclose()
        await scene.completed("other")
        await scene.ran_once(*TASKS)
