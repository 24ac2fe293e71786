"""A worker's pull meets a broken network: one run, one commit, whatever becomes of request and answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator

import pytest

from tests.faults.network import LATE, UNTOLD, behind_a_proxy, kill_worker
from tests.faults.proxy import Action, Rule
from tests.faults.proxy.resp import strings
from tests.faults.scene import Scene

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
async def scene() -> AsyncGenerator[Scene]:
    async with behind_a_proxy() as scene:
        yield scene


@pytest.fixture(autouse=True)
def healed(scene: Scene) -> Iterator[None]:
    yield
    scene.proxy.clear()


@pytest.fixture
async def busy(scene: Scene, request: pytest.FixtureRequest) -> AsyncGenerator[None]:
    """The worker holds a task: none of its pulls waits behind a bell."""
    task = "busy-" + request.node.name.partition("[")[2].rstrip("]")
    await scene.submit(task, text="wait")
    scene.started(task)
    scene.rests()
    yield
    scene.proxy.clear()
    scene.go(task)
    await scene.completed(task)


async def next_pull(scene: Scene, action: Action, before: str) -> Rule:
    """The pull that the worker sends behind its wait for a bell, once it is idle again, meets this."""
    await scene.submit(before, text="wait")
    scene.started(before)
    rule = scene.proxy.on("pull behind", action)
    scene.go(before)
    await scene.completed(before)
    rule.met()
    return rule


@pytest.mark.parametrize("action", list(Action))
async def test_a_pull_behind_a_bell_claims_once(scene: Scene, action: Action) -> None:
    before, task = f"before-{action}", f"behind-{action}"
    rule = await next_pull(scene, action, before)
    await scene.submit(task)
    record = await scene.completed(task)
    assert (record.deliveries, record.crashes, scene.runs(task)) == (1, 0, 1)
    rule.wait().release()
    if action in UNTOLD:
        assert task.encode() in rule.answer()  # it was executed: the claim was there, and untold
    if action in LATE:
        assert strings(rule.answer())[0] in {b"STALE", b"REPLAY"}
    await scene.check()


@pytest.mark.usefixtures("busy")
@pytest.mark.parametrize("action", list(Action))
async def test_pull_claims_once(scene: Scene, action: Action) -> None:
    task = f"pull-{action}"
    scene.rests()
    # Twice, where the answer is looked at: the first may be the last look around of the worker that was busy before.
    rule = scene.proxy.on("pull", action, times=2 if action in UNTOLD else 1)
    await scene.submit(task)
    record = await scene.completed(task)
    assert (record.deliveries, record.crashes, scene.runs(task)) == (1, 0, 1)
    rule.wait().release()
    if action in UNTOLD:
        assert task.encode() in rule.answer()  # it was executed: the claim was there, and untold
    if action in LATE:
        assert strings(rule.answer())[0] in {b"STALE", b"REPLAY"}
    await scene.check()


async def test_pull_that_comes_when_its_worker_was_recovered_claims_nothing(scene: Scene) -> None:
    held = await next_pull(scene, Action.HOLD, "before-it-is-held")
    others = scene.proxy.on("pull", Action.DROP, times=1000)
    await scene.submit("still-there")
    held.wait()
    kill_worker(scene)
    others.wait()  # the next worker asks, and is not heard
    held.release()
    assert strings(held.answer()) == [b"DEAD"]  # no verdict, no claim
    others.end()
    record = await scene.completed("still-there")
    assert (record.deliveries, record.crashes, scene.runs("still-there")) == (1, 0, 1)
    await scene.check()


async def test_a_claim_whose_answer_was_lost_with_its_worker_goes_to_the_next(scene: Scene) -> None:
    rule = await next_pull(scene, Action.CUT, "before-the-cut")
    others = scene.proxy.on("pull", Action.DROP, times=1000)
    await scene.submit("claimed")
    rule.wait()
    kill_worker(scene)
    others.end()
    record = await scene.completed("claimed")
    assert (record.deliveries, record.crashes, scene.runs("claimed")) == (2, 0, 1)  # it had not begun
    await scene.check()
