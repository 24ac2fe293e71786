"""Plain functions in the main thread of a worker: signals are theirs, an order to stop reaches them, and the worker
lives on. And the event loop that `--loop` chooses."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast.errors import HandlerError
from holdfast.exits import Exit
from holdfast.handler.choose import handler_of
from holdfast.handler.registry import Handlers
from holdfast_config import Settings
from tests.faults.scene import LONG_DRAIN, Scene, stage
from tests.log.test_lines import manager

pytestmark = pytest.mark.anyio

APP = "tests.worker.main_thread_app:handlers"


def value(record: TaskRecord) -> Any:
    assert record.result
    (part,) = json.loads(record.result)["parts"]
    return part.get("text", part.get("data"))


async def run(scene: Scene, name: str, **options: Any) -> Any:
    task_id = f"{name}-{len(scene.pool.log)}"
    await manager(scene).run_task(name=name, task_id=task_id, **options)
    return value(await scene.completed(task_id))


@pytest.mark.parametrize("loop", ["uvloop", "asyncio"])
async def test_a_signal_reaches_the_function_and_its_steps_are_recorded(loop: str, short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=APP, loop=loop) as scene:
        assert await run(scene, "alarm") == "_MainThread"
        assert await run(scene, "loop") == loop


async def test_the_timer_of_a_function_does_not_interrupt_the_next_one(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=APP, concurrency=1) as scene:
        pid = scene.pool.pid_of("worker 0")
        assert await run(scene, "leave") == "left"
        assert await run(scene, "heeded") == signal.SIG_DFL.name, "the handler of the signal is gone, too"
        assert await run(scene, "outlast", max_attempts=1) == str(pid)


async def test_a_function_that_sleeps_is_ended_by_its_timeout_and_the_worker_lives_on(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=APP) as scene:
        pid = scene.pool.pid_of("worker 0")
        await manager(scene).run_task(name="stay", task_id="t", timeout=0.2)
        (record,) = await scene.settled("t")
        assert (record.state, record.crashes) == (State.FAILED, 0)
        assert record.reason.startswith("TaskTimeout")
        assert await run(scene, "outlast") == str(pid)


async def test_one_runs_at_a_time_and_the_next_begins_once_it_was_canceled(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=APP) as scene:
        for task_id in ("a", "b"):
            await manager(scene).run_task(name="stay", task_id=task_id)
        assert scene.started("a")[1] == scene.pool.pid_of("worker 0")
        assert scene.runs("b") == 0
        await manager(scene).cancel_task("a")
        scene.started("b")
        await manager(scene).cancel_task("b")
        scene.happened("canceled", "b")
        assert await run(scene, "outlast") == str(scene.pool.pid_of("worker 0"))


async def test_a_worker_that_is_killed_in_such_a_function_loses_nothing(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=APP) as scene:
        await manager(scene).run_task(name="stay", task_id="t")
        os.kill(scene.started("t")[1], signal.SIGKILL)
        scene.started("t")
        await manager(scene).cancel_task("t")
        scene.happened("canceled", "t")


async def test_sigterm_to_the_worker_drains_it_while_its_main_thread_waits(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=APP) as scene:
        pid = scene.pool.pid_of("worker 0")
        assert await run(scene, "alarm") == "_MainThread"
        os.kill(pid, signal.SIGTERM)
        scene.pool.until("ended as ordered", pid=pid)
        scene.pool.until("ready", slot="worker 0")


async def test_a_drain_that_is_over_interrupts_the_function_and_gives_its_task_back(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=APP, drain_timeout=LONG_DRAIN) as scene:
        await manager(scene).run_task(name="stay", task_id="t")
        scene.started("t")
        assert scene.cut_short() == Exit.CUT_OFF
        record = await scene.record("t")
        assert (record.state, record.releases, record.crashes) == (State.SUBMITTED, 1, 0)


async def test_a_process_that_it_forks_is_no_worker(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler=APP) as scene:
        assert await run(scene, "fork") == [signal.SIGTERM, False]
        assert await run(scene, "outlast") == str(scene.pool.pid_of("worker 0"))


async def test_middleware_around_it_stays_in_its_own_thread(short_path: Path) -> None:
    async with stage(short_path, workers=1, handler="tests.worker.main_thread_app:surrounded") as scene:
        assert await run(scene, "inside") == [False, False, True]


def test_a_coroutine_cannot_have_the_main_thread() -> None:
    async def quick() -> None: ...

    with pytest.raises(HandlerError, match="the handler 'quick' is async: thread='main' is for plain functions"):
        Handlers().register("quick", thread="main")(quick)


def test_another_thread_is_refused_by_name() -> None:
    with pytest.raises(HandlerError, match="thread 'other': 'main' is allowed, or None for any thread"):
        Handlers().register("quick", thread="other")  # type: ignore[arg-type]  # the test is about this mistake


def test_a_strict_fence_keeps_the_alarm_for_itself() -> None:
    with pytest.raises(HandlerError, match=r"'alarm' has thread='main'.*use --fence lease"):
        handler_of(Settings(handler=APP, fence="strict"))
