"""examples/maintenance.py, on a real pool and real folders."""

from __future__ import annotations

import json
import os
import tarfile
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from examples import maintenance
from holdfast.client.manager import TaskManager
from holdfast.core.outcomes import Rejected
from holdfast.handler.named_handler import resolve
from tests.faults.scene import Scene, stage
from tests.faults.work import QUEUE
from tests.handler.deliveries import delivery_of, run_handler

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]
HANDLERS = "examples.maintenance:handlers"
SUNDAY = 6


@pytest.fixture
def folder(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """With a file of today and one of the day before yesterday."""
    scratch = short_path / "scratch"
    (scratch / "deep").mkdir(parents=True)
    (scratch / "new").write_text("new")
    (scratch / "deep" / "old").write_text("old")
    before = time.time() - 2 * maintenance.DAY
    os.utime(scratch / "deep" / "old", (before, before))
    monkeypatch.setenv("MAINTENANCE_FOLDER", str(scratch))
    return scratch


def files(folder: Path) -> list[str]:
    return [path.name for path in folder.rglob("*") if path.is_file()]


async def result(scene: Scene, task_id: str) -> Any:
    record = await scene.completed(task_id)
    assert record.result
    return json.loads(record.result)["parts"][0]["data"]


async def test_a_folder_is_swept_and_packed(folder: Path, short_path: Path) -> None:
    async with stage(short_path, handler=HANDLERS, workers=2) as scene:
        manager = TaskManager(scene.store, queue=QUEUE)
        scene.happened("schedule-set", "sweep")
        following = await maintenance.plan(manager, str(folder), str(short_path / "archives"))
        assert following == await maintenance.plan(manager, str(folder), str(short_path / "archives"))
        assert following is not None
        assert (following.weekday(), following.hour, following.minute) == (SUNDAY, 2, 0)
        assert following > datetime.now(UTC)
        schedules = {one.definition.schedule_id: one for one in (await manager.schedules.list()).schedules}
        assert schedules.keys() == {"sweep", "archive"}
        assert (schedules["sweep"].generation, schedules["sweep"].paused) == (1, "")

        task_id = await manager.schedules.run("archive")
        packed = await result(scene, task_id)
        assert packed["files"] == 2
        with tarfile.open(packed["archive"]) as archive:
            assert sorted(archive.getnames()) == ["deep/old", "new"]
        assert await result(scene, await manager.schedules.run("sweep")) == {"deleted": 1}
        assert files(folder) == ["new"]


async def test_what_is_no_folder_is_rejected(tmp_path: Path) -> None:
    call = {"name": "maintenance.sweep", "kwargs": {"folder": str(tmp_path / "nowhere"), "older_than": 1}}
    outcome = await run_handler(resolve(HANDLERS, ROOT), delivery_of([{"kind": "data", "data": call}]))
    assert isinstance(outcome, Rejected)
    assert outcome.reason == f"{tmp_path / 'nowhere'} is no folder"
