"""The report of an outcome meets a broken network: it is committed once, and nobody runs the task again for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator

import pytest

from tests.faults.network import LATE, UNTOLD, behind_a_proxy, kill_worker
from tests.faults.proxy import Action
from tests.faults.scene import Scene

pytestmark = pytest.mark.anyio

VERDICT = b"\r\n*1\r\n$%d\r\n%s\r\n"  # the one settlement's


def answer_of(verdict: bytes) -> bytes:
    return VERDICT % (len(verdict), verdict)


@pytest.fixture(scope="module")
async def scene() -> AsyncGenerator[Scene]:
    async with behind_a_proxy() as scene:
        yield scene


@pytest.fixture(autouse=True)
def healed(scene: Scene) -> Iterator[None]:
    yield
    scene.proxy.clear()


@pytest.mark.parametrize("action", list(Action))
async def test_settle_commits_once(scene: Scene, action: Action) -> None:
    task, rule = f"settle-{action}", scene.proxy.on("settle", action, about=f"settle-{action}")
    await scene.submit(task, text=f"echo {action}")
    record = await scene.completed(task)
    assert (record.deliveries, record.crashes, scene.runs(task)) == (1, 0, 1)
    rule.wait()
    rule.release()
    if action in UNTOLD:  # it was executed, behind its own repetition where the request was on its way for long
        assert any(answer_of(verdict) in rule.answer() for verdict in (b"OK", b"ALREADY"))
    if action in LATE:
        assert answer_of(b"ALREADY") in rule.answer()
    await scene.check()
    assert scene.pool.lines("an outcome came too late: the store did not record it") == []


async def test_settle_that_comes_when_another_has_run_the_task_is_refused(scene: Scene) -> None:
    rule, others = scene.proxy.on("settle", Action.HOLD), scene.proxy.on("settle", Action.DROP, nth=2, times=1000)
    await scene.submit("again")
    rule.wait()
    kill_worker(scene)
    others.end()
    record = await scene.completed("again")
    rule.release()
    assert answer_of(b"LOST") in rule.answer()
    assert (record.deliveries, record.crashes, scene.runs("again")) == (2, 1, 2)
    await scene.check()


async def test_settle_that_comes_while_another_runs_the_task_is_refused(scene: Scene) -> None:
    rule, others = scene.proxy.on("settle", Action.HOLD), scene.proxy.on("settle", Action.DROP, nth=2, times=1000)
    await scene.submit("running", text="wait")
    scene.started("running")
    scene.go("running")
    rule.wait()
    kill_worker(scene)
    others.end()
    assert scene.started("running")[0] == 2
    rule.release()
    assert answer_of(b"LOST") in rule.answer()
    scene.go("running")
    record = await scene.completed("running")
    assert (record.deliveries, record.crashes, scene.runs("running")) == (2, 1, 2)
    await scene.check()


async def test_settle_that_comes_after_recover_counts_as_long_as_nobody_has_claimed_anew(scene: Scene) -> None:
    rule, others = scene.proxy.on("settle", Action.HOLD), scene.proxy.on("settle", Action.DROP, nth=2, times=1000)
    await scene.submit("late")
    rule.wait()
    pulls = scene.proxy.on("pull", Action.DROP, times=1000)
    kill_worker(scene)
    pulls.wait()
    rule.release()
    assert answer_of(b"OK") in rule.answer()
    pulls.end()
    others.end()
    record = await scene.completed("late")
    await scene.submit("after")
    await scene.completed("after")
    assert (record.deliveries, record.crashes, scene.runs("late")) == (1, 1, 1)
    await scene.check()
