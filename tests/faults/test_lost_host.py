"""A whole host dies at once: nobody of it can say so, and another one, alive or started later, takes over its tasks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.faults.process import Pool
from tests.faults.scene import Scene, stage

pytestmark = pytest.mark.anyio


@contextmanager
def another(scene: Scene, folder: Path) -> Iterator[Pool]:
    """A host beside that of the scene."""
    folder.mkdir()
    pool = Pool(folder, scene.url, **{**scene.flags, "workers": 1, "concurrency": 4})
    try:
        yield pool.ready(1)
        assert pool.stop() == 0
    finally:
        pool.close()


async def test_lost_host_is_taken_over_by_another_when_its_lease_has_lapsed(short_path: Path) -> None:
    async with stage(short_path, lease=1.0, lease_grace=0.3) as scene:
        await scene.submit("t", text="wait")
        _, holder = scene.started("t")
        scene.pool.lose()
        (short_path / "other").mkdir()
        scene.pool = Pool(short_path / "other", scene.url, **{**scene.flags, "workers": 1}).ready(1)
        scene.pool.until("lost worker recovered: its lease expired", tasks=1)
        delivery, pid = scene.started("t")
        scene.go("t")
        record = await scene.completed("t")
        assert (delivery, record.crashes, pid != holder) == (2, 0, True)


async def test_living_host_takes_over_the_tasks_of_a_lost_one_and_keeps_its_own(short_path: Path) -> None:
    async with stage(short_path, workers=2, concurrency=1, lease=1.0, lease_grace=0.3) as scene:
        await scene.submit("lost1", "lost2", text="wait")
        holders = {scene.started("lost1")[1], scene.started("lost2")[1]}
        with another(scene, short_path / "other") as other:
            await scene.submit("kept", text="wait")
            scene.started("kept")
            scene.pool.lose()
            scene.pool = other
            for task_id in ("lost1", "lost2"):
                delivery, pid = scene.started(task_id)
                assert (delivery, pid not in holders) == (2, True)
            other.wait_for("lost worker recovered: its lease expired", times=2)
            scene.go("lost1", "lost2", "kept")
            for task_id, deliveries in (("lost1", 2), ("lost2", 2), ("kept", 1)):
                record = await scene.completed(task_id)
                assert (record.deliveries, record.crashes) == (deliveries, 0)
            scene.stopped = True
