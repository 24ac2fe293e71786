"""Somebody deletes what the queue is made of, or what is in it is older than what the store remembers."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.core.delivery import Standing
from holdfast.core.worker_records import Introduction
from holdfast.store.redis.scripts import product
from tests.faults import other_scripts
from tests.faults.network import kill_worker
from tests.faults.process import Pool
from tests.faults.scene import stage
from tests.faults.work import QUEUE, entry

pytestmark = pytest.mark.anyio

T = f"{{{QUEUE}}}:"


async def test_a_deleted_list_bell_and_control_lose_nothing_of_our_own_producers(short_path: Path) -> None:
    """A foreign entry that nobody has taken is known to the list alone, and goes with it: that is not promised."""
    async with stage(short_path, workers=1, concurrency=1) as scene:
        await scene.submit("busy", text="wait")
        scene.started("busy")
        scene.client.rpush(QUEUE, entry("foreign", "echo"))
        await scene.submit("a", "b")
        controls = scene.client.keys(f"{T}control:*")
        assert scene.client.delete(QUEUE, f"{T}bell:{QUEUE}", *controls) >= 1
        for task_id in ("a", "b"):
            scene.happened("put-back", task_id)
        assert [json.loads(raw)["_b"][0] for raw in scene.client.lrange(QUEUE, 0, -1)] == ["a", "b"]
        scene.go("busy")
        for task_id in ("busy", "a", "b"):
            assert (await scene.completed(task_id)).deliveries == 1
        assert await scene.store.get("foreign") is None
        assert scene.pool.deaths() == []


async def test_an_entry_whose_task_is_forgotten_is_dropped_and_counted(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        await scene.submit("busy", text="wait")
        scene.started("busy")
        await scene.submit("old", "next")
        await scene.store.cancel("old", "test")
        assert await scene.store.trim(0, 100) == 1
        assert scene.client.llen(QUEUE) == 2  # its entry stays until somebody comes by
        scene.go("busy")
        await scene.completed("next")
        assert (scene.runs("old"), (await scene.counts()).counters["stale"]) == (0, 1)
        assert await scene.store.get("old") is None


async def test_an_incarnation_id_that_is_used_again_claims_nothing(short_path: Path) -> None:
    """Neither beside its living owner nor after its death."""
    async with stage(short_path, workers=1, concurrency=1) as scene:
        await scene.submit("busy", text="wait")
        scene.started("busy")
        await scene.submit("waits")
        (worker,) = await scene.store.workers()
        again = Introduction(worker.incarnation, "another host", "boot", 1, 0)
        assert await scene.store.register(again) is Standing.TAKEN
        kill_worker(scene)
        assert await scene.store.register(again) is Standing.DEAD
        pulled = await scene.store.pull(worker.incarnation, 1_000_000, 10, [QUEUE], [])
        assert (pulled.standing, pulled.deliveries) == (Standing.DEAD, ())
        assert scene.started("busy")[0] == 2
        scene.go("busy")
        await scene.completed("waits")


async def test_a_pool_with_other_scripts_works_beside_the_first(short_path: Path) -> None:
    """As while hosts are upgraded one after another: scripts go by their digests, only the schema must be the same."""
    async with stage(short_path, workers=1, concurrency=1) as scene:
        (short_path / "other").mkdir()
        flags = {**scene.flags, "other_scripts": True}
        other = Pool(short_path / "other", scene.url, **flags)
        try:
            other.ready(1)
            await scene.submit("a", "b", text="wait")
            runners = {scene.started(task_id)[1] for task_id in ("a", "b")}
            assert runners == {scene.pool.pid_of("worker 0"), other.pid_of("worker 0")}
            scene.go("a", "b")
            for task_id in ("a", "b"):
                record = await scene.completed(task_id)
                assert (record.deliveries, record.crashes) == (1, 0)
            shas = [scripts["pull"].sha for scripts in (product(), other_scripts.other())]
            assert shas[0] != shas[1]
            assert scene.client.script_exists(*shas) == [True, True]
            assert other.stop() == 0
        finally:
            other.close()


async def test_a_queue_key_of_another_type_is_refused_at_the_start_by_its_name(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        assert scene.pool.stop() == 0
        scene.client.set(QUEUE, "x")
        try:
            assert scene.restart().ended() == 78
            assert f"key {QUEUE} is a string, and queue {QUEUE} keeps a list there" in scene.pool.log_text()
        finally:
            scene.client.delete(QUEUE)
        scene.restart().ready(1)


async def test_a_queue_key_that_becomes_of_another_type_is_shown_by_its_name_and_a_stop_takes_seconds(
    short_path: Path,
) -> None:
    async with stage(short_path, workers=2, drain_timeout=600.0) as scene:
        scene.client.set(QUEUE, "x")
        line = scene.pool.until("steward is degraded")
        assert f"key {QUEUE} is a string" in line["reason"]
        while f"key {QUEUE} is a string" not in scene.pool.status().degraded:
            pass
        assert [line for line in scene.pool.log if "exception" in line] == []
        assert scene.pool.stop() == 0
        scene.client.delete(QUEUE)
