"""A worker is killed while a handler asks, and while it goes on: asked once, with one answer for each later run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord
from holdfast_config.kill_spec import Point
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio

ASKING = (Point.STEP_RAN, Point.STEP_SENT, Point.STEP_KEPT, Point.BEFORE_SETTLE, Point.SETTLE_SENT, Point.SETTLED)
GOING_ON = (Point.PULLED, Point.HANDLER, *ASKING)


async def answer(scene: Scene, text: str) -> None:
    await scene.store.submit([submission("t", QUEUE, f"a-{text}", text=text)])


async def asks(scene: Scene) -> TaskRecord:
    """The task in the state in which it waits for an answer."""
    scene.happened("settled", "t")
    record = await scene.record("t")
    assert (record.state, record.turn) == (State.INPUT_REQUIRED, 1)
    return record


async def answers(scene: Scene) -> list[object]:
    scene.happened("settled", "t", times=2)
    record = await scene.record("t")
    assert (record.state, record.turn, record.attempts) == (State.COMPLETED, 2, 0), record
    assert record.result
    (part,) = json.loads(record.result)["parts"]
    assert scene.client.hgetall("calls:t").keys() == {"0", "1"}
    return list(part["data"])


@pytest.mark.parametrize("point", ASKING)
async def test_a_worker_killed_as_its_handler_asks(point: Point, short_path: Path) -> None:
    """From the step before the question on."""
    async with stage(short_path, kill_at=[point], workers=1) as scene:
        scene.pool.order(point)
        await scene.submit("t", text="inquire")
        await asks(scene)
        await answer(scene, "eu")
        called, said, once = await answers(scene)
        assert (said, once) == ("eu", 1)
        assert str(called) == scene.client.hget("calls:t", "0")


@pytest.mark.parametrize("point", GOING_ON)
async def test_a_worker_killed_as_its_handler_goes_on_with_the_answer(point: Point, short_path: Path) -> None:
    async with stage(short_path, kill_at=[point], workers=1) as scene:
        await scene.submit("t", text="inquire")
        await asks(scene)
        scene.pool.order(point)
        await answer(scene, "eu")
        scene.pool.until("died")
        called, said, once = await answers(scene)
        assert (called, said) == (1, "eu")
        assert str(once) == scene.client.hget("calls:t", "1")
        assert (await scene.record("t")).crashes <= 1


async def test_a_question_outlives_its_pool(short_path: Path) -> None:
    async with stage(short_path, workers=1) as scene:
        await scene.submit("t", text="inquire")
        await asks(scene)
        scene.restart()
        await answer(scene, "eu")
        assert await answers(scene) == [1, "eu", 1]
