"""A handler ends its process, or makes it deaf, in every way there is: the cause is named, the task runs again."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from holdfast.core.task_states import State
from holdfast.worker.running_tasks import MOST_LEFT
from tests.faults.kin import wait_dead
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE
from tests.handler.hostile_errors import HOSTILE

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("how", "cause"),
    [
        ("SIGSEGV", "signal: SIGSEGV"),
        ("SIGABRT", "signal: SIGABRT"),
        ("0", "exit: status 0"),
        ("1", "exit: status 1"),
    ],
)
async def test_handler_that_ends_its_process_is_charged_and_run_again(how: str, cause: str, short_path: Path) -> None:
    async with stage(short_path) as scene:
        await scene.submit("t", text=f"end_once {how}")
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes, scene.runs("t")) == (2, 1, 2)
        scene.pool.ready(3)
        assert [death.partition(": ")[2] for death in scene.pool.deaths()] == [cause]


async def test_stopped_worker_is_continued_at_once(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.submit("t", text="wait")
        _, pid = scene.started("t")
        os.kill(pid, signal.SIGSTOP)
        scene.pool.until("child was stopped by a signal: it is continued", pid=pid)
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (1, 0)
        assert scene.pool.deaths() == []


@pytest.mark.parametrize("verb", ["hang_once", "halt_once", "grip_once"])
async def test_worker_whose_loop_does_not_turn_is_ended_with_its_stacks_shown(verb: str, short_path: Path) -> None:
    async with stage(short_path, hang_timeout=3.0) as scene:
        await scene.submit("t", text=verb)
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (2, 1)
        scene.pool.ready(3)
        assert "hung: silent" in scene.pool.deaths()[0]
        stacks = [line["text"] for line in scene.pool.lines("raw")]
        assert any(text.endswith(f"in {verb}") for text in stacks)


async def test_a_handler_out_of_memory_fails_and_is_tried_again(short_path: Path) -> None:
    async with stage(short_path, workers=1, retry_base=0.01) as scene:
        await scene.submit("t", text="starve_once")
        record = await scene.completed("t")
        assert (record.deliveries, record.attempts, record.crashes) == (2, 1, 0)
        assert scene.pool.deaths() == []


async def test_a_death_is_seen_although_somebody_keeps_the_channel_open(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.submit("t", text="clutch_once")
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (2, 1)
        assert [death.partition(": ")[2] for death in scene.pool.deaths()] == ["signal: SIGKILL"]


async def test_silent_worker_is_vouched_for_past_its_lease(short_path: Path) -> None:
    async with stage(short_path, lease=1.0, lease_grace=0.5) as scene:
        await scene.submit("t", text="hold")
        scene.started("t")
        await scene.submit(*(f"lease{n}" for n in range(3)), text="sleep 1")  # a lease each, on the other worker
        for number in range(3):
            await scene.completed(f"lease{number}")
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (1, 0)
        assert scene.pool.deaths() == []


async def test_worker_that_blocks_sigterm_is_drained_by_message(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.submit("t", text="unwilling")
        scene.started("t")
        scene.pool.send(signal.SIGTERM)
        scene.pool.until("draining")
        scene.go("t")
        assert scene.ended() == 0
        assert (await scene.record("t")).state is State.COMPLETED


async def test_what_a_dead_worker_had_started_is_killed_before_its_task_is_recovered(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await scene.submit("t", text="parent_of_two")
        _, pid = scene.started("t")
        _, _, *grandchildren = scene.started("t")
        os.kill(pid, signal.SIGKILL)
        await scene.completed("t")
        wait_dead(*grandchildren)
        scene.pool.until("killed the processes that a dead child had started")
        scene.pool.until("worker recovered", tasks=1)
        assert (await scene.record("t")).crashes == 1


@pytest.mark.parametrize(("verb", "cause"), [("poison", "signal: SIGKILL"), ("starve", "signal: SIGABRT")])
async def test_task_that_always_ends_its_worker_becomes_a_dead_letter_and_harms_no_other(
    verb: str, cause: str, short_path: Path
) -> None:
    async with stage(short_path, workers=3) as scene:
        others = [f"other{n}" for n in range(40)]
        await scene.submit("poison", text=verb)
        await scene.submit(*others, text="sleep 0.01")
        for crash in range(2, 4):
            scene.happened("crashed", "poison", crash)
            _make_due(scene, "poison")
        scene.happened("dead-letter", "poison")
        record = await scene.record("poison")
        assert (record.state, record.dead, record.crashes) == (State.FAILED, True, 4)
        for other in others:
            await scene.completed(other)
        assert [death.partition(": ")[2] for death in scene.pool.deaths()] == [cause] * 4


def _make_due(scene: Scene, task_id: str) -> None:
    """Let the pause after a crash be over: the store's due time is set to now, and the steward told of it."""
    prefix = f"{{{QUEUE}}}:"
    assert scene.client.zadd(f"{prefix}due", {task_id: 1}, xx=True, ch=True) == 1
    scene.client.rpush(f"{prefix}control:steward", "due")


async def test_worker_that_is_taken_for_dead_wrongly_commits_nothing_and_ends_fenced(short_path: Path) -> None:
    async with stage(short_path) as scene:
        await scene.submit("t", text="hold")  # it hears nothing meanwhile
        _, zombie = scene.started("t")
        scene.held("t")
        (incarnation,) = [each.incarnation for each in scene.pool.status().processes if each.pid == zombie]
        assert await scene.store.recover(incarnation, "test", charged=False) == 1
        delivery, pid = scene.started("t")
        assert (delivery, pid != zombie) == (2, True)
        scene.go("t")  # for the zombie: it has waited longer
        scene.pool.until("an outcome came too late: the store did not record it", task="t", pid=zombie)
        scene.pool.until("died", pid=zombie, cause="fenced: status 82")
        assert (await scene.record("t")).state is State.WORKING
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, record.crashes) == (2, 0)


async def test_errors_that_cannot_be_shown_are_failed_attempts_and_keep_no_slot(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=2, max_attempts=1) as scene:
        names = [each.__name__ for each in HOSTILE]
        for name in names:
            await scene.submit(name, text=f"raises {name}")
        records = await scene.settled(*names)
        assert {(record.state, record.deliveries, record.crashes) for record in records} == {(State.FAILED, 1, 0)}
        await scene.submit("innocent")
        await scene.completed("innocent")
        assert len(scene.pool.lines("task failed")) == len(names)
        assert scene.pool.lines("a call has failed")[0]["exception"].endswith("ApiError: {'code': 4}")
        assert scene.pool.deaths() == []


FAILING = [
    "gather",
    "awaited",
    "group",
    "anyio",
    "background",
    "kept",
    "kept-around",
    "thread",
    "executor",
    "step",
    "step-thread",
    "generator",
]
HARMLESS = ["caught", "looked-at", "callback", "later", "done"]


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
async def test_an_exit_anywhere_in_a_handler_is_the_failure_of_its_task_alone(loop: str, short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=4, max_attempts=1, loop=loop) as scene:
        await scene.submit("neighbour", text="wait")
        scene.started("neighbour")
        for kind in ("exit", "interrupt"):
            failing = {f"{place}-{kind}": f"exits {place} {kind}" for place in FAILING}
            harmless = {f"{place}-{kind}": f"exits {place} {kind}" for place in HARMLESS}
            for task_id, text in {**failing, **harmless}.items():
                await scene.submit(task_id, text=text)
            for record in await scene.settled(*failing):
                assert (record.state, record.deliveries) == (State.FAILED, 1), record
                assert record.reason.startswith("SystemExit: 3" if kind == "exit" else "KeyboardInterrupt"), record
            for record in await scene.settled(*harmless):
                assert (record.state, record.deliveries) == (State.COMPLETED, 1), record
        scene.go("neighbour")
        assert (await scene.completed("neighbour")).deliveries == 1
        assert scene.pool.deaths() == []


LEFT = ["thread", "executor", "pool", "task", "generator", "plain"]


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
async def test_what_tasks_left_running_delays_no_stop(loop: str, short_path: Path) -> None:
    async with stage(short_path, workers=1, loop=loop, drain_timeout=60.0) as scene:
        for what in LEFT:
            await scene.submit(what, text=f"leaves {what}")
        for record in await scene.settled(*LEFT):
            assert (record.state, record.deliveries) == (State.COMPLETED, 1)
        assert scene.stop() == 0
        assert scene.pool.deaths() == []
        assert scene.pool.lines("child is silent") == []


async def test_what_tasks_left_running_delays_no_recycling(short_path: Path) -> None:
    """Nor is a worker that has left taken for one that hangs."""
    async with stage(short_path, workers=1, concurrency=1, max_tasks=1, hang_timeout=3.0) as scene:
        for what in LEFT:
            await scene.submit(what, text=f"leaves {what}")
            _, pid = scene.started(what)
            await scene.completed(what)
            wait_dead(pid)
        assert scene.pool.deaths() == []


async def test_a_worker_whose_threads_are_left_behind_is_recycled_before_all_its_places_are_taken(
    short_path: Path,
) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        names = [f"left-{number}" for number in range(MOST_LEFT)]
        for number, name in enumerate(names):
            await scene.submit(name, text=f"leaves {('thread', 'executor')[number % 2]}")
        first = {scene.started(name)[1] for name in names}
        await scene.settled(*names)
        assert len(first) == 1
        wait_dead(first.pop())
        await scene.submit("after", text="exits executor exit")
        (record,) = await scene.settled("after")
        assert record.state is State.FAILED
        assert scene.pool.deaths() == []


async def test_a_task_gets_a_thread_where_another_has_left_all_of_them_behind(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=2) as scene:
        await scene.submit("t", text="threads_when_told")
        scene.started("t")
        await scene.submit("leaves", text="leaves all")
        await scene.completed("leaves")
        scene.go("t")
        record = await scene.completed("t")
        assert (record.deliveries, scene.pool.deaths()) == (1, [])
