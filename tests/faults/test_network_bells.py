"""The wait for a bell meets a broken network: work starts a little later, by another worker or the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator
from itertools import count

import pytest

from tests.faults.network import behind_a_proxy
from tests.faults.proxy import Action
from tests.faults.proxy.rules import Rule
from tests.faults.scene import Scene
from tests.faults.work import QUEUE, entry

pytestmark = pytest.mark.anyio

TASKS_UNTIL_MET = 40  # reached only by a test that fails
# A cut that a worker's connection survives for longer than a test should wait: another worker has to hear the bell.
DEAF = [Action.DROP, Action.HOLD, Action.BLACK_HOLE]
_numbers = count()  # one stage is there for many tests, and knows their tasks


@pytest.fixture(scope="module")
async def scene() -> AsyncGenerator[Scene]:
    async with behind_a_proxy() as scene:
        yield scene


@pytest.fixture(scope="module")
async def pair() -> AsyncGenerator[Scene]:
    async with behind_a_proxy(workers=2) as scene:
        yield scene


async def listens(scene: Scene, action: Action, times: int = 1) -> Rule:
    """Have a worker listen anew, and that meet this fault, so often. Answers once it has met it the first time.

    A renewal may have found a task whose bell was lost: its worker listens as before, until the next task rings."""
    rule = scene.proxy.on("BLPOP", action, times=times)
    for _ in range(TASKS_UNTIL_MET):
        task = f"first{next(_numbers)}"
        await scene.submit(task)
        await scene.completed(task)
        if rule.was_met(within=1.0):
            break
    return rule.wait() if action in DEAF else rule.met()


async def ran_once(scene: Scene, task: str) -> None:
    record = await scene.completed(task)
    assert (record.deliveries, record.crashes, scene.runs(task)) == (1, 0, 1)
    await scene.check()


@pytest.mark.parametrize("action", [action for action in Action if action not in DEAF])
async def test_work_whose_bell_was_lost_is_rung_for_again(scene: Scene, action: Action) -> None:
    await listens(scene, action, times=4)  # the producer's bell, the steward's, and those that it rings to make sure
    for number in range(3):
        await scene.submit(f"t{number}-{action}")
        await ran_once(scene, f"t{number}-{action}")
    scene.proxy.clear()


@pytest.fixture
def healed(pair: Scene) -> Iterator[None]:
    yield
    pair.proxy.clear()
    pair.client.client_kill_filter(_type="normal", skipme=True)  # the deaf hear of it, and listen again


@pytest.mark.usefixtures("healed")
@pytest.mark.parametrize("action", DEAF)
async def test_work_for_a_deaf_worker_is_done_by_another(pair: Scene, action: Action) -> None:
    await listens(pair, action)
    for number in range(3):
        await pair.submit(f"t{number}-{action}")
        await ran_once(pair, f"t{number}-{action}")


@pytest.mark.parametrize("action", DEAF)
async def test_work_for_the_only_worker_is_found_by_its_next_renewal_when_it_is_deaf(action: Action) -> None:
    async with behind_a_proxy(lease=1.5, redis_poll_timeout=120.0) as scene:
        await listens(scene, action)
        await scene.submit("t")
        await ran_once(scene, "t")


async def test_what_a_pull_behind_a_bell_has_claimed_unheard_is_found_by_the_next_renewal() -> None:
    """Both commands reach the server, and no answer of that connection comes any more."""
    async with behind_a_proxy(lease=1.5, redis_poll_timeout=120.0) as scene:
        scene.rests()
        behind = scene.proxy.on("pull behind", Action.WATCH)
        await listens(scene, Action.DELAY)
        behind.met()
        await scene.submit("t")
        await ran_once(scene, "t")


@pytest.mark.usefixtures("healed")
async def test_entries_of_a_foreign_producer_are_not_lost_to_a_half_open_connection(pair: Scene) -> None:
    await listens(pair, Action.BLACK_HOLE)
    tasks = [f"foreign{number}" for number in range(5)]
    for task in tasks:
        pair.client.rpush(QUEUE, entry(task, "echo"))
    for task in tasks:
        await ran_once(pair, task)
