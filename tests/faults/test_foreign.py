"""Producers that know nothing of us push with a plain Redis client: served once, or set aside with the reason."""

from __future__ import annotations

import json
import time
from pathlib import Path

import anyio.lowlevel
import pytest

from holdfast.client.manager import TaskManager
from holdfast.core.task_states import State
from holdfast.store import open_store
from holdfast_config import RedisSettings
from holdfastd.steward.duties.bells import PEEK_FOR
from tests.faults.process import PATIENCE, Pool
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE, entry

pytestmark = pytest.mark.anyio

BAD = {
    "no JSON": b"{not json",
    "no operation": b'{"params": {"task_id": "x"}}',
    "unknown operation": b'{"operation": "explode", "params": {"task_id": "x"}}',
    "no task id": b'{"operation": "run", "params": {}}',
    "bad task id": b'{"operation": "run", "params": {"task_id": "a b\\u0000"}}',
    "not UTF-8": b'{"operation": "run", "params": {"task_id": "x", "y": "\xff\xfe"}}',
    "too large": entry("large", "x" * 10_000_000),
    "too deep": b'{"operation":"run","params":{"task_id":"deep","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
}


async def test_same_bytes_pushed_twice_run_once(short_path: Path) -> None:
    async with stage(short_path) as scene:
        raw = entry("t", "echo")
        scene.client.rpush(QUEUE, raw, raw)
        record = await scene.completed("t")
        scene.client.rpush(QUEUE, raw, entry("after", "echo"))
        await scene.completed("after")
        assert (record.deliveries, scene.runs("t")) == (1, 1)


async def test_both_documented_envelopes_are_served(short_path: Path) -> None:
    async with stage(short_path) as scene:
        conversation = {
            "type": "run",
            "task_id": "second",
            "conversation_id": "c",
            "messages": [{"role": "user", "content": "echo hello"}],
            "artifacts": [],
            "timestamp": "2026-01-01T00:00:00Z",
        }
        scene.client.rpush(QUEUE, entry("first", "echo hello"), json.dumps(conversation))
        for task_id in ("first", "second"):
            record = await scene.completed(task_id)
            assert record.result
            assert b"hello" in record.result


async def test_a_push_wakes_a_worker_that_waits_however_seldom_it_polls(short_path: Path) -> None:
    """Two are served before a steward that does not hear the push would look again; a slow machine may try again."""
    async with stage(short_path, workers=1, redis_poll_timeout=2 * PATIENCE, lease=2 * PATIENCE) as scene:
        for number in range(3):
            began = time.monotonic()
            for task_id in (f"first{number}", f"second{number}"):
                scene.rests()
                scene.client.rpush(QUEUE, entry(task_id, "echo"))
                await scene.completed(task_id)
            if (took := time.monotonic() - began) < PEEK_FOR:
                break
        assert took < PEEK_FOR


async def test_what_failed_is_a_dead_letter_and_a_list_of_that_name_is_its_owners(short_path: Path) -> None:
    """The recipe of others keeps in `<queue>:dlq` what has failed, and pushes it again from there."""
    beside, kept = f"{QUEUE}:dlq", entry("kept", "echo")
    async with stage(short_path, workers=1, max_attempts=2, retry_base=0.0) as scene:
        scene.client.lpush(beside, kept)
        scene.client.rpush(QUEUE, entry("bad", "no such verb"))
        (record,) = await scene.settled("bad")
        assert (record.state, record.dead, record.attempts) == (State.FAILED, True, 2)
        manager = TaskManager(scene.store, queue=QUEUE)
        assert [task.task_id for task in (await manager.dead_letters()).tasks] == ["bad"]
        assert scene.client.lrange(beside, 0, -1) == [kept.decode()]
        scene.client.lmove(beside, QUEUE, "RIGHT", "LEFT")
        await scene.completed("kept")


async def test_what_cannot_be_understood_is_set_aside_and_workers_go_on(short_path: Path) -> None:
    async with stage(short_path) as scene:
        for number, raw in enumerate(BAD.values()):
            scene.client.rpush(QUEUE, raw, entry(f"good{number}", "echo"))
        for number in range(len(BAD)):
            await scene.completed(f"good{number}")
        for _ in ("too large", "too deep"):  # for the store to read: workers do, in their own time
            scene.pool.until("a large entry was set aside")
        aside = await scene.store.unreadable(100)
        assert sorted(item.size for item in aside) == sorted(map(len, BAD.values()))
        assert all(item.reason for item in aside)
        assert scene.pool.deaths() == []


async def test_cancel_pushed_by_a_foreign_producer_reaches_a_running_handler(short_path: Path) -> None:
    async with stage(short_path) as scene:
        scene.client.rpush(QUEUE, entry("t", "wait"))
        scene.started("t")
        scene.client.rpush(QUEUE, json.dumps({"operation": "cancel", "params": {"task_id": "t"}}))
        scene.happened("canceled", "t")
        assert (await scene.record("t")).state is State.CANCELED


def order(verb: str, task_id: str) -> str:
    return json.dumps({"operation": verb, "params": {"task_id": task_id}})


async def relied_on(scene: Scene) -> None:
    """Until the worker knows that a steward vouches for it: from then on it leaves the lanes to the steward."""
    (worker,) = [worker.incarnation for worker in await scene.store.workers()]
    key = f"{{{QUEUE}}}:worker:{worker}"
    while not scene.client.hget(key, "vouched"):
        await anyio.lowlevel.checkpoint()
    heartbeat = int(scene.client.hget(key, "heartbeat"))
    while int(scene.client.hget(key, "heartbeat")) < heartbeat + 2:
        await anyio.lowlevel.checkpoint()


async def test_pushed_orders_are_heard_while_every_slot_is_full(short_path: Path) -> None:
    """Those at the tail of a long backlog and those at its head, for the task that runs and for tasks that wait."""
    async with stage(short_path, workers=1, concurrency=1, lease=3.0) as scene:
        await relied_on(scene)
        await scene.submit("runs", text="wait")
        scene.started("runs")
        await scene.submit("first", "second", "third")
        scene.client.rpush(QUEUE, *(entry(f"f{number}", "echo") for number in range(500)))
        scene.client.lpush(QUEUE, order("cancel", "first"))
        scene.client.rpush(QUEUE, order("pause", "second"), order("pause", "third"), order("resume", "third"))
        scene.client.rpush(QUEUE, order("cancel", "runs"))
        scene.happened("canceled", "first")
        scene.happened("suspended", "second")
        scene.happened("resumed", "third")
        scene.happened("canceled", "runs")
        await scene.completed("third")
        assert [scene.runs(task_id) for task_id in ("first", "second")] == [0, 0]
        await scene.store.cancel("second", "over")


@pytest.mark.parametrize("why", ["paused", "quiet"])
async def test_pushed_orders_are_heard_where_nothing_may_start(short_path: Path, why: str) -> None:
    """And what they cancel no longer counts, nor stands in the list."""
    async with stage(short_path, workers=1) as scene:
        if why == "paused":
            await scene.store.pause_lane(QUEUE, "later")
        else:
            await scene.store.quiet_host("*", "operator", "later")
        await scene.submit("t0", "t1", "t2", "t3", "t4")
        scene.client.rpush(QUEUE, *(order("cancel", f"t{number}") for number in range(1, 5)))
        for number in range(1, 5):
            scene.happened("canceled", f"t{number}")
        while scene.client.llen(QUEUE) > 1:
            await anyio.lowlevel.checkpoint()
        assert (await scene.counts()).lanes[QUEUE] == 1
        await scene.store.resume_lane(QUEUE)
        await scene.store.resume_host("*", "operator")
        await scene.completed("t0")


async def test_two_agents_on_one_redis_know_nothing_of_each_other(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        (short_path / "other").mkdir()
        flags = {"redis_url": scene.url, "queue_name": "second", "workers": 1}
        other = Pool(short_path / "other", scene.url, **flags).ready(1)
        try:
            async with open_store(RedisSettings(scene.url, queue="second")) as store:
                manager = TaskManager(store, queue="second")
                scene.client.rpush("second", b"nobody can read this")
                await manager.run_task("echo of the second", task_id="same")
                scene.client.rpush(QUEUE, entry("same", "echo of the first"))
                second = await manager.wait("same", timeout=PATIENCE)
                first = await scene.completed("same")
                assert (b"of the first" in (first.result or b""), b"of the second" in (second.result or b"")) == (
                    True,
                    True,
                )
                assert [len(await each.unreadable(10)) for each in (scene.store, store)] == [0, 1]
        finally:
            assert other.stop() == 0
            other.close()


async def test_the_log_tells_of_each_task_with_its_worker_and_its_trace(short_path: Path) -> None:
    trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    async with stage(short_path, workers=1, log_level="debug", max_attempts=1) as scene:
        (worker,) = [worker.incarnation for worker in await scene.store.workers()]
        for task_id, text in (("good", "echo"), ("bad", "no such verb")):
            pushed = json.loads(entry(task_id, text)) | {"trace_id": trace, "span_id": span}
            scene.client.rpush(QUEUE, json.dumps(pushed))
            told = {"task": task_id, "lane": QUEUE, "worker": worker, "trace_id": trace, "span_id": span, "delivery": 1}
            scene.pool.until("task started", **told)
            if task_id == "good":
                assert scene.pool.until("task settled", **told)["outcome"] == "completed"
            else:
                failed = scene.pool.until("task failed", **told)
                assert (failed["level"], failed["then"]) == ("error", "exhausted")


async def test_a_producer_that_pushes_at_the_head_is_served_in_its_order(short_path: Path) -> None:
    names = [f"t{number}" for number in range(8)]
    async with stage(short_path, workers=1, concurrency=1, lanes=f"{QUEUE};end=tail") as scene:
        scene.bounded("end")
        await scene.submit("first", text="wait")
        scene.started("first")
        for name in names:
            scene.client.lpush(QUEUE, entry(name, "echo"))
        await scene.submit("last")
        scene.go("first")
        await scene.completed("last")
        claimed = [event["id"] for event in scene.heard("claimed")]
        assert claimed == ["first", *names, "last"]
