"""Two things happen to a task at once: one of them wins, and everybody is told the truth."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator, Iterator

import pytest

from holdfast.core.acceptance import Accepted
from holdfast.core.task_states import State
from tests.faults.network import behind_a_proxy, kill_worker
from tests.faults.proxy import Action, Rule
from tests.faults.scene import Scene
from tests.faults.work import submission

pytestmark = pytest.mark.anyio

FOR_EVER = 1_000_000


@pytest.fixture(scope="module")
async def scene() -> AsyncGenerator[Scene]:
    async with behind_a_proxy() as scene:
        yield scene


@pytest.fixture(autouse=True)
def healed(scene: Scene) -> Iterator[None]:
    yield
    scene.proxy.clear()


def unheard(scene: Scene, name: str) -> Rule:
    """Such requests do not arrive until the rule ends."""
    return scene.proxy.on(name, Action.DROP, times=FOR_EVER)


async def test_cancel_that_comes_before_the_settle_wins(scene: Scene) -> None:
    settle = unheard(scene, "settle")
    await scene.submit("canceled-first")
    settle.wait()
    assert await scene.store.cancel("canceled-first", "test") == "canceled"
    settle.end()
    scene.pool.until("an outcome came too late: the store did not record it", task="canceled-first", verdict="LOST")
    record = await scene.record("canceled-first")
    assert (record.state, record.deliveries, scene.runs("canceled-first")) == (State.CANCELED, 1, 1)
    await scene.check()


async def test_cancel_that_comes_after_the_settle_is_told_so(scene: Scene) -> None:
    settle = scene.proxy.on("settle", Action.CUT)  # the worker does not know yet that it was heard
    await scene.submit("settled-first")
    settle.wait()
    assert await scene.store.cancel("settled-first", "test") == "completed"
    record = await scene.completed("settled-first")
    assert (record.deliveries, scene.runs("settled-first")) == (1, 1)
    await scene.check()


async def test_cancel_that_comes_before_the_recovery_of_its_worker_stays(scene: Scene) -> None:
    await scene.submit("canceled-dead", text="wait")
    _, pid = scene.started("canceled-dead")
    recover = unheard(scene, "recover")
    os.kill(pid, signal.SIGKILL)
    recover.wait()
    assert await scene.store.cancel("canceled-dead", "test") == "canceled"
    recover.end()
    scene.pool.until("worker recovered", tasks=0)
    await scene.submit("after")
    await scene.completed("after")
    record = await scene.record("canceled-dead")
    assert (record.state, record.crashes, scene.runs("canceled-dead")) == (State.CANCELED, 0, 1)
    await scene.check()


async def test_cancel_that_comes_after_the_recovery_keeps_the_task_from_running_again(scene: Scene) -> None:
    await scene.submit("recovered-first", text="wait")
    _, pid = scene.started("recovered-first")
    pulls = unheard(scene, "pull")
    os.kill(pid, signal.SIGKILL)
    scene.pool.until("worker recovered", tasks=1)
    assert await scene.store.cancel("recovered-first", "test") == "canceled"
    pulls.end()
    await scene.submit("after-it")
    await scene.completed("after-it")
    record = await scene.record("recovered-first")
    assert (record.state, record.crashes, scene.runs("recovered-first")) == (State.CANCELED, 1, 1)
    await scene.check()


async def test_pause_of_a_task_whose_result_is_on_its_way_comes_too_late(scene: Scene) -> None:
    settle = unheard(scene, "settle")
    await scene.submit("paused-late")
    settle.wait()
    assert await scene.store.pause("paused-late", "test") == "working"  # asked, not done
    settle.end()
    record = await scene.completed("paused-late")
    assert (record.deliveries, scene.runs("paused-late")) == (1, 1)
    await scene.check()


async def test_pause_of_a_task_whose_worker_dies_unheard_is_kept(scene: Scene) -> None:
    await scene.submit("paused-dead", text="wait")
    _, pid = scene.started("paused-dead")
    recover = unheard(scene, "recover")
    os.kill(pid, signal.SIGKILL)
    recover.wait()
    assert await scene.store.pause("paused-dead", "test") == "working"
    recover.end()
    scene.happened("suspended", "paused-dead")
    await scene.submit("after-the-pause")
    await scene.completed("after-the-pause")
    record = await scene.record("paused-dead")
    assert (record.state, record.crashes, scene.runs("paused-dead")) == (State.SUSPENDED, 1, 1)
    assert await scene.store.resume("paused-dead", "test") == "submitted"
    assert scene.started("paused-dead")[0] == 2
    scene.go("paused-dead")
    await scene.completed("paused-dead")
    await scene.check()


async def test_pause_and_resume_at_once_leave_the_task_running(scene: Scene) -> None:
    await scene.submit("both", text="wait")
    scene.started("both")
    assert await scene.store.pause("both", "test") == "working"
    await scene.store.resume("both", "test")
    scene.go("both", "both")  # the first handler may have heard the pause after it was told to go
    await scene.completed("both")
    await scene.check()


async def test_pause_and_a_message_at_once_leave_the_task_running(scene: Scene) -> None:
    await scene.submit("told", text="wait")
    scene.started("told")
    assert await scene.store.pause("told", "test") == "working"
    [accepted] = await scene.store.submit([submission("told", "echo go on")])
    assert accepted in {Accepted.PENDING, Accepted.TURN}  # by then its handler may have stopped
    scene.go("told", "told")  # the first handler may have heard the pause after it was told to go
    while (record := await scene.record("told")).state is not State.COMPLETED:  # in one turn or two
        scene.news(0.5)
    assert record.turn == 2
    await scene.check()


async def test_message_for_a_task_whose_worker_dies_runs_after_it(scene: Scene) -> None:
    await scene.submit("talk", text="wait")
    scene.started("talk")
    assert await scene.store.submit([submission("talk", "echo the second turn")]) == [Accepted.PENDING]
    kill_worker(scene)
    assert scene.started("talk")[0] == 2
    scene.go("talk")
    scene.happened("settled", "talk", times=2)
    record = await scene.record("talk")
    assert (record.state, record.turn, scene.runs("talk")) == (State.COMPLETED, 2, 3)
    assert record.result is not None
    assert b"the second turn" in record.result
    await scene.check()


async def test_message_for_a_task_that_ends_badly_is_set_aside(scene: Scene) -> None:
    await scene.submit("ends", text="wait")
    scene.started("ends")
    assert await scene.store.submit([submission("ends", "echo too late")]) == [Accepted.PENDING]
    assert await scene.store.cancel("ends", "test") == "canceled"
    aside = await scene.store.unreadable(10)
    assert any("ends" in item.reason for item in aside)
    await scene.submit("next")
    await scene.completed("next")
    assert scene.runs("ends") == 1
    await scene.check()
