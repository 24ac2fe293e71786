"""The store is killed and comes back with less than it had, or another version wrote it: what is kept, who says so."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
import redis
from msgspec.structs import replace

from holdfast.core.task_states import State
from holdfast.exits import Exit
from tests.faults.process import Pool
from tests.faults.scene import PATIENT, stage
from tests.faults.work import QUEUE, entry, named_pipe, submission
from tests.servers import valkey

pytestmark = pytest.mark.anyio

EVERY_SECOND = ("--appendonly", "yes", "--appendfsync", "everysec")


async def test_a_killed_store_that_syncs_every_second_has_all_that_it_answered(short_path: Path) -> None:
    """Its log is written before the answer and synced later: only the machine's own end takes what is not synced."""
    async with stage(short_path, server=EVERY_SECOND) as scene:
        pipe = named_pipe(short_path)
        later = [f"later{n}" for n in range(20)]
        await scene.submit("t", text=f"pipe {pipe}")
        with pipe.open("w") as end:
            await scene.submit(*later, text="quick", delay_ms=200)
            scene.client.rpush(QUEUE, entry("foreign", "quick"))
            scene.signal_server(signal.SIGKILL)
            scene.pool.until("the store does not answer; waiting")
            end.write("done while the store was dead")
        scene.serve_again(*EVERY_SECOND)
        await scene.ran_once("t", "foreign", *later)
        assert scene.pool.deaths() == []


async def test_a_killed_store_that_keeps_nothing_is_begun_anew_loudly(short_path: Path) -> None:
    async with stage(short_path) as scene:
        pipe = named_pipe(short_path)
        await scene.submit("running", text=f"pipe {pipe}")
        with pipe.open("w") as end:
            workers = {worker.incarnation for worker in await scene.store.workers()}
            scene.steward_knows_the_store()
            await scene.submit("waiting", text="quick", delay_ms=3_600_000)
            scene.signal_server(signal.SIGKILL)
            scene.pool.until_status(lambda status: "cannot be reached" in status)
            scene.serve_again()
            scene.pool.wait_for("the store has lost this worker; it registers anew", times=len(workers))
            end.write("nobody asks for this any more")
        await scene.says_that_it_came_back_empty()
        await PATIENT.call(scene.submit, "new")
        await scene.completed("new")
        assert {worker.incarnation for worker in await PATIENT.call(scene.store.workers)} == workers
        assert [await PATIENT.call(scene.store.get, lost) for lost in ("running", "waiting")] == [None, None]
        assert scene.pool.deaths() == []


async def test_bounds_of_lanes_are_kept_again_after_a_loss(short_path: Path) -> None:
    async with stage(short_path, lanes=f"{QUEUE};limit=1,other") as scene:
        scene.bounded("limit")
        workers = {worker.incarnation for worker in await scene.store.workers()}
        scene.client.flushall()
        scene.pool.wait_for("the store has lost this worker; it registers anew", times=len(workers))
        scene.bounded("limit")
        await scene.submit("a", "b", text="wait")
        scene.started("a")
        await scene.store.submit([replace(submission("c", "echo"), lane="other")])
        await scene.completed("c")
        assert (await scene.record("b")).state is State.SUBMITTED
        scene.go("a", "b")
        for task_id in ("a", "b"):
            await scene.completed(task_id)


def test_a_queue_of_another_schema_is_refused_and_left_as_it_is(short_path: Path) -> None:
    with valkey(short_path) as url, redis.Redis.from_url(url, decode_responses=True) as client:
        meta = f"{{{QUEUE}}}:meta"
        client.hset(meta, "schema", "999")
        pool = Pool(short_path, url, redis_url=url, queue_name=QUEUE, workers=2)
        try:
            assert pool.ended() == Exit.CONFIG
            (shown,) = [line["line"] for line in pool.lines("announce")]
            assert "schema '999'" in shown
            assert [line["slot"] for line in pool.lines("ready") if line["slot"] != "loader"] == []
            assert client.hgetall(meta) == {"schema": "999"}
            assert client.keys() == [meta]
        finally:
            pool.close()
