"""Tasks that a worker has claimed ahead go back as soon as they are not to begin there: nothing is counted, and they
run elsewhere or later.

A handler that keeps the event loop from turning holds up what was claimed behind it, until the test lets it go.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from holdfast.client.manager import TaskManager
from holdfast.core.quiet_hosts import ALL_HOSTS
from holdfast.core.task_states import State
from holdfastd.control.socket_protocol import ProcessStatus
from tests.faults.process import PATIENCE, Pool
from tests.faults.scene import Event, Scene, stage
from tests.faults.work import QUEUE, submission

pytestmark = pytest.mark.anyio

TRIES = 20
ROUND, BEHIND, ENOUGH = 40, 60, 10  # tasks
TAKEN_BACK = "its worker is silent"  # where a busy machine lets an order take longer than 5 s
SHORT = "sleep 0.01"  # a few of these may run before an order is heard


@dataclass(frozen=True, slots=True)
class Held:
    """The worker runs `first`, and holds these others that it has not begun."""

    first: str
    behind: list[str]


async def hold_up(scene: Scene, text: str = SHORT) -> Held:
    """Until a worker has claimed tasks ahead: it is used to short ones, and one that it has begun does not let go."""
    for number in range(TRIES):
        await learn(scene, f"short{number}")
        first, behind = f"hold{number}", [f"t{number}-{each}" for each in range(BEHIND)]
        waiting = [submission(each, text) for each in behind]
        before = submission(f"before{number}", "quick x")  # an idle worker asks for one task, a busy one for more
        await scene.store.submit([before, submission(first, "hold"), *waiting])
        scene.started(first)
        scene.happened("claimed", first)
        if len(ahead := held_of(scene, behind)) >= ENOUGH:
            return Held(first, ahead)
        scene.go(first)
        await scene.settled(f"before{number}", first, *behind)
    raise AssertionError("nothing is ever claimed ahead")


def held_of(scene: Scene, ids: list[str]) -> list[str]:
    """Those that were claimed more often than given back."""
    claims = Counter(event["id"] for event in scene.heard("claimed"))
    claims.subtract(event["id"] for event in scene.heard("returned"))
    return [task_id for task_id in ids if claims[task_id]]


async def learn(scene: Scene, name: str) -> None:
    """Run short tasks until some are claimed ahead."""
    for round_ in range(TRIES):
        ids = [f"{name}-{round_}-{number}" for number in range(ROUND)]
        await scene.submit(*ids, text="quick x")
        await scene.settled(*ids)
        if scene.client.hlen(f"{{{QUEUE}}}:ahead"):
            break
    scene.rests()


def until(scene: Scene, holds: Callable[[ProcessStatus], bool]) -> None:
    """Until this holds of a process, as its supervisor knows it."""
    for _ in range(round(PATIENCE / 0.02)):
        if any(map(holds, scene.pool.status().processes)):
            return
        scene.news(0.02)
    raise AssertionError(f"{scene.pool.status()}\n{scene.pool.log_text()}")


def given_back(scene: Scene, held: Held) -> list[Event]:
    """Once the last of them is back."""
    scene.happened("returned", held.behind[-1])
    return [event for event in scene.heard("returned") if event["id"] in held.behind]


def reasons(events: list[Event]) -> set[str]:
    return {event["detail"].partition(" ")[2] for event in events}


async def all_run(scene: Scene, held: Held) -> None:
    """Each runs once, in order, and nothing has counted for any of them."""
    records = await scene.settled(held.first, *held.behind)
    assert {(record.state, record.releases, record.crashes) for record in records} == {(State.COMPLETED, 0, 0)}
    returned = Counter(event["id"] for event in scene.heard("returned"))
    assert {record.deliveries - returned[record.task_id] for record in records[1:]} == {1}
    begun = [event["id"] for event in scene.heard("settled") if event["id"] in held.behind]
    assert begun == held.behind


async def test_it_goes_back_when_its_worker_is_scaled_away(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        await scene.submit("stays", text="wait")
        scene.started("stays")
        until(scene, lambda process: process.running == ["stays"])  # of two, the worker that says to run less has to go
        scene.pool.scale(2)
        scene.pool.ready(2)
        held = await hold_up(scene)
        scene.pool.scale(1)
        until(scene, lambda process: process.state == "draining" and process.slot == 1)
        scene.go(held.first)
        assert reasons(given_back(scene, held)) <= {"drain", TAKEN_BACK}
        scene.go("stays")
        await all_run(scene, held)


async def test_it_goes_back_at_a_reload(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        held = await hold_up(scene)
        await scene.submit("next", text="hold")  # the new worker is not idle: else it asks for what the other holds
        scene.pool.send(signal.SIGHUP)
        scene.started("next")
        scene.pool.until("reloaded")
        until(scene, lambda process: process.state == "draining")
        scene.go(held.first)
        assert reasons(given_back(scene, held)) <= {"drain", TAKEN_BACK}
        scene.go("next")
        await all_run(scene, held)


async def test_it_goes_back_when_its_host_is_to_be_quiet(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        held = await hold_up(scene)
        await scene.store.quiet_host(ALL_HOSTS, "op@desk", "why")
        scene.go(held.first)
        back = [event["id"] for event in given_back(scene, held)]
        assert {(await scene.record(task_id)).state for task_id in back} == {State.SUBMITTED}
        await scene.store.resume_host(ALL_HOSTS, "op@desk")
        await all_run(scene, held)


async def test_it_goes_back_when_its_lane_is_paused(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        held = await hold_up(scene)
        await scene.store.pause_lane(QUEUE, "stop")
        scene.go(held.first)
        back = [event["id"] for event in given_back(scene, held)]
        assert {(await scene.record(task_id)).state for task_id in back} == {State.SUBMITTED}
        await scene.store.resume_lane(QUEUE)
        await all_run(scene, held)


async def test_a_pause_that_is_withdrawn_before_it_has_begun_counts_as_nothing(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        held = await hold_up(scene)
        manager = TaskManager(scene.store, queue=QUEUE)
        await manager.pause_task(held.behind[-1])
        await manager.resume_task(held.behind[-1])
        scene.go(held.first)
        await all_run(scene, held)


async def test_what_is_paused_before_it_has_begun_stays_until_it_is_resumed(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1) as scene:
        held = await hold_up(scene)
        paused = held.behind[-1]
        manager = TaskManager(scene.store, queue=QUEUE)
        await manager.pause_task(paused)
        scene.go(held.first)
        scene.happened("suspended", paused)
        await scene.settled(held.first, *held.behind[:-1])
        assert (await scene.record(paused)).state is State.SUSPENDED
        await manager.resume_task(paused)
        await all_run(scene, held)


async def test_it_goes_to_others_when_the_lease_is_lost_and_is_not_begun_here(short_path: Path) -> None:
    async with stage(short_path, workers=1, concurrency=1, lease=1.0, lease_grace=0.3) as scene:
        held = await hold_up(scene, "echo")
        with frozen(scene.pool), another(scene, short_path / "other") as other:
            other.until("lost worker recovered: its lease expired", tasks=1 + len(held.behind))
            scene.go(held.first, held.first)  # the first word is for the handler that is frozen
            records = await scene.settled(held.first, *held.behind)
        recoveries = {
            task_id: scene.client.hget(f"{{{QUEUE}}}:task:{task_id}", "recoveries") for task_id in held.behind
        }
        assert set(recoveries.values()) == {None}
        assert {record.crashes for record in records} == {0}
        scene.pool.until("ready")  # the worker that was given up has ended, and has a successor
        assert {scene.runs(task_id) for task_id in held.behind} == {1}


@contextmanager
def frozen(pool: Pool) -> Iterator[None]:
    """All processes of this pool do nothing."""
    pids = [pool.pid, *(process.pid for process in pool.status().processes)]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def another(scene: Scene, folder: Path) -> Iterator[Pool]:
    """A host beside that of the scene."""
    folder.mkdir()
    pool = Pool(folder, scene.url, **{**scene.flags, "workers": 1})
    try:
        yield pool.ready(1)
        assert pool.stop() == 0
    finally:
        pool.close()
