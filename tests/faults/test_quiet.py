"""A quiet pool: what runs is finished, nothing is claimed, whatever starts anew; a resume is heard at once."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.client.manager import TaskManager
from holdfast.core.quiet_hosts import ALL_HOSTS
from holdfast.core.task_states import State
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE

pytestmark = pytest.mark.anyio

NOTED = "this host is quiet or halted: its workers claim no tasks"
BELL = f"{{{QUEUE}}}:bell:{QUEUE}"
RENEWALS = 5
UNDER_WAY = 2  # requests that were begun before it was heard of
NEVER = 600.0  # seconds of a lease: no renewal tells of anything while a test lasts


async def quiet(scene: Scene) -> None:
    """And every worker has heard of it."""
    answer = await scene.store.quiet_host(ALL_HOSTS, "op@desk", "why")
    scene.pool.wait_for(NOTED, answer.workers)


async def test_what_runs_is_finished_and_nothing_more_is_begun_until_it_is_resumed(short_path: Path) -> None:
    async with stage(short_path, workers=2, lease=NEVER) as scene:
        await scene.submit("runs", text="wait")
        scene.started("runs")
        await quiet(scene)
        await scene.submit("waits")
        scene.go("runs")
        await scene.completed("runs")
        assert (await scene.record("waits")).state is State.SUBMITTED
        await scene.store.resume_host(ALL_HOSTS, "op@desk")
        await scene.completed("waits")


async def test_a_restart_and_a_death_do_not_undo_it(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await quiet(scene)
        assert scene.pool.stop() == 0
        scene.restart().ready(1).wait_for(NOTED)
        await scene.submit("t1")
        os.kill(scene.pool.pid_of("worker 0"), signal.SIGKILL)
        scene.pool.wait_for(NOTED, 2)
        assert scene.runs("t1") == 0
        await scene.store.resume_host(ALL_HOSTS, "op@desk")
        await scene.completed("t1")


async def test_a_quiet_worker_hears_no_bells_and_asks_for_nothing(short_path: Path) -> None:
    async with stage(short_path, workers=1, redis_poll_timeout=0.02, lease=0.3) as scene:
        await quiet(scene)
        await scene.submit("t1", "t2")
        [worker] = await scene.store.workers()
        key = f"{{{QUEUE}}}:worker:{worker.incarnation}"
        asked, beats = scene.client.hmget(key, "request", "heartbeat")
        while int(scene.client.hget(key, "heartbeat")) < int(beats) + RENEWALS:
            scene.client.blpop(["nothing"], timeout=0.02)
        assert int(scene.client.hget(key, "request")) <= int(asked) + UNDER_WAY
        assert scene.client.llen(BELL) == 1
        await scene.store.resume_host(ALL_HOSTS, "op@desk")
        for task_id in ("t1", "t2"):
            await scene.completed(task_id)


async def test_a_worker_polls_as_often_as_it_is_told_although_a_steward_answers(short_path: Path) -> None:
    async with stage(short_path, workers=1, redis_poll_timeout=0.005, lease=0.3) as scene:
        [worker] = await scene.store.workers()
        key = f"{{{QUEUE}}}:worker:{worker.incarnation}"

        def after(beats: int) -> tuple[int, int]:
            counts = [0, 0]
            while counts[0] < beats:
                counts = [int(count) for count in scene.client.hmget(key, "heartbeat", "request")]
            return counts[0], counts[1]

        vouched, _ = after(RENEWALS)  # by then the worker knows that a steward answers
        began, asked = after(vouched + 1)
        ended, polled = after(began + RENEWALS)
        assert polled - asked > 2 * (ended - began)


async def test_schedules_fire_on_a_quiet_pool_and_what_they_make_waits(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        manager = TaskManager(scene.store, queue=QUEUE)
        await quiet(scene)
        await manager.schedules.upsert("j", every=0.1, limit=3, overlap="forbid", text="echo")
        fired = scene.happened("schedule-fired", "j")["detail"].split(" ")[1]
        scene.happened("schedule-skipped", "j", 2)
        assert (await scene.record(fired)).state is State.SUBMITTED
        await scene.store.resume_host(ALL_HOSTS, "op@desk")
        await scene.completed(fired)


async def test_a_halted_pool_makes_no_fires_and_claims_nothing_until_the_halt_ends(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        manager = TaskManager(scene.store, queue=QUEUE)
        answer = await scene.store.halt_host(ALL_HOSTS, "op@desk", "why")
        scene.pool.wait_for(NOTED, answer.workers)
        due = await manager.schedules.upsert("j", every=0.1, limit=1, text="echo")
        scene.pool.wait_for("this host is halted: it fires no schedules")
        await scene.submit("t1")
        while await scene.store.clock_ms() < due.timestamp() * 1000 + 200:
            scene.client.blpop(["nothing"], timeout=0.02)
        await scene.store.end_halt(ALL_HOSTS, "op@desk")
        scene.happened("schedule-fired", "j")
        await scene.completed("t1")
        told_in_order = [fields["event"] for _, fields in scene.client.xrange(f"{{{QUEUE}}}:events")]
        ended = told_in_order.index("host-halt-ended")
        assert not {"claimed", "schedule-fired"} & set(told_in_order[:ended])


async def test_a_pool_that_is_started_into_a_halt_says_how_it_ends(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.store.halt_host(ALL_HOSTS, "op@desk", "why")
        await scene.store.quiet_host(ALL_HOSTS, "op@desk", "because")
        assert scene.pool.stop() == 0
        pool = scene.restart().ready(1)
        marks = [str(pool.wait_for("this host is quiet or halted", times)["mark"]) for times in (1, 2)]
        assert marks[0].endswith("by order of op@desk (because); to end it: supervisor resume")
        assert marks[1].endswith("by order of op@desk (why); to end it: supervisor control RESUME")


async def test_a_hint_that_was_lost_costs_no_more_than_a_renewal(short_path: Path) -> None:
    async with stage(short_path, workers=1, lease=0.6) as scene:
        [worker] = await scene.store.workers()
        told, marked = f"{{{QUEUE}}}:quiet", f"{{{QUEUE}}}:worker:{worker.incarnation}"
        scene.client.hset(told, ALL_HOSTS, "0\nop@desk\nwhy")
        scene.client.hset(marked, "quiet", "1")
        scene.pool.wait_for(NOTED)
        await scene.submit("t1")
        scene.client.delete(told)
        scene.client.hdel(marked, "quiet")
        await scene.completed("t1")
