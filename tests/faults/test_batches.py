"""A batch counts each of its tasks once, and its callback runs once, whatever is killed meanwhile."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from holdfast.core.acceptance import BatchPlace, Submission, SubmitOptions
from holdfast.core.batches import BatchRecord, TaskEnd
from holdfast_config.kill_spec import Point
from tests.faults import ledger
from tests.faults.kills import Killer
from tests.faults.scene import PATIENT, Scene, stage
from tests.faults.work import QUEUE, submission

pytestmark = pytest.mark.anyio

WINDOWS = (Point.PULLED, Point.HANDLER, Point.BEFORE_SETTLE, Point.SETTLE_SENT, Point.SETTLED)
CHUNK = 100


def placed(batch: str, place: int, expected: int, text: str) -> Submission:
    options = SubmitOptions(batch=BatchPlace(batch, place, expected, "d1"))
    name = f"{batch}.{place}" if place else f"{batch}.then"
    return submission(name, text, options=options, max_attempts=1 if text == "nonsense" else None)


async def submit(scene: Scene, batch: str, *texts: str) -> list[str]:
    """The ids of the callback and of the tasks."""
    wanted = [placed(batch, place, len(texts), text) for place, text in enumerate(("quick", *texts))]
    for start in range(0, len(wanted), CHUNK):
        await scene.store.submit_with_options(wanted[start : start + CHUNK])
    return [one.task_id for one in wanted]


async def record(scene: Scene, batch: str) -> BatchRecord:
    found = await PATIENT.call(scene.store.batch, batch)
    assert found is not None
    return found


async def count_by_records(scene: Scene) -> dict[str, Counter[str]]:
    """How many tasks of each batch are in which state, by the records of the tasks."""
    snapshot = await PATIENT.call(scene.store.snapshot)
    found: dict[str, Counter[str]] = {}
    for task in ledger.of_kind(snapshot, f"{{{QUEUE}}}:task:").values():
        place, *_, batch = task["batch"].split(" ")
        if place != "0":
            found.setdefault(batch, Counter())[task["state"]] += 1
    return found


@pytest.mark.parametrize("point", WINDOWS)
async def test_a_worker_killed_at(point: Point, short_path: Path) -> None:
    async with stage(short_path, kill_at=[point], workers=1) as scene:
        scene.pool.order(point)
        await submit(scene, "b", "quick", "quick")
        scene.pool.until("died")
        await scene.completed("b.then")
        counts = (await record(scene, "b")).counts
        assert (counts.total, counts.completed) == (2, 2)
        assert len([event for event in scene.heard("ready") if event["id"] == "b.then"]) == 1


async def play(folder: Path, seed: int, batches: int, tasks: int, every: float) -> int:
    """Run batches while anybody may be killed; how many were killed."""
    chance = random.Random(seed)
    async with stage(folder, embedded=True, workers=4, concurrency=4) as scene:
        ids = set[str]()
        for number in range(batches):
            texts = [
                "nonsense" if chance.random() < 0.1 else f"sleep {chance.uniform(0, 0.03):.4f}" for _ in range(tasks)
            ]
            ids |= {*await submit(scene, f"b{number}", *texts)}
        kills = Killer(scene, chance, ("worker", "steward", "store")).until_drained(ids, every)
        for number in range(batches):
            scene.happened("batch-ended", f"b{number}")  # a crash loop may keep the last tasks waiting for a while
        told = await count_by_records(scene)
        for number in range(batches):
            batch = await record(scene, f"b{number}")
            by_end = {end: getattr(batch.counts, end) for end in TaskEnd if end not in {TaskEnd.OPEN, TaskEnd.RETRIED}}
            assert {end: n for end, n in by_end.items() if n} == told[batch.batch_id]
            assert (batch.counts.total, batch.counts.open) == (tasks, 0)
        for number in range(batches):
            scene.happened("ready", f"b{number}.then")
        ready = Counter(event["id"] for event in scene.heard("ready"))
        assert ready == Counter({f"b{number}.then": 1 for number in range(batches)})
        return kills


async def test_counts_are_those_of_the_records_while_anybody_may_be_killed(short_path: Path) -> None:
    assert await play(short_path, seed=1, batches=4, tasks=120, every=0.15) > 0
