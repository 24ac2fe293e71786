"""Workers that are used to short tasks claim ahead: long ones land where they can run all the same."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from holdfast.core.pull_protocol import ENDED
from tests.faults.process import PATIENCE
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE

pytestmark = pytest.mark.anyio


async def learn(scene: Scene, workers: int) -> None:
    """Run short tasks until each worker knows how short they are; then all listen for bells again."""
    for round_ in range(20):
        ids = [f"short{round_}-{number}" for number in range(40 * workers)]
        await scene.submit(*ids, text="quick x")
        await scene.settled(*ids)
        done = Counter(event["detail"].split(":")[1] for event in scene.heard("settled"))
        if len(done) == workers and min(done.values()) >= ENDED:
            break
    scene.rests(workers)


def entries(scene: Scene) -> list[str]:
    """The ids in the lane, in its order."""
    return [entry.split('"_b":"')[1].split(":")[0] for entry in scene.client.lrange(QUEUE, 0, -1)]


async def test_long_tasks_land_on_as_many_workers(short_path: Path) -> None:
    async with stage(short_path, workers=4) as scene:
        await learn(scene, 4)
        ids = [f"long{number}" for number in range(4)]
        await scene.submit(*ids, text="wait")
        assert len({scene.started(task_id)[1] for task_id in ids}) == 4
        scene.go(*ids)
        await scene.settled(*ids)


async def test_what_was_claimed_ahead_of_a_long_task_goes_back_in_its_order(short_path: Path) -> None:
    async with stage(short_path, workers=2, concurrency=1) as scene:
        await learn(scene, 2)
        ids = [f"long{number}" for number in range(8)]
        await scene.submit(*ids, text="wait")
        for _ in range(round(PATIENCE / 0.02)):
            if len(left := entries(scene)) == 6:
                break
            scene.news(0.02)
        assert left == sorted(left)
        running = set(ids) - set(left)
        assert len({scene.started(task_id)[1] for task_id in running}) == 2
        await scene.check()
        scene.go(*ids)
        records = await scene.settled(*ids)
        assert {(record.releases, record.crashes) for record in records} == {(0, 0)}
