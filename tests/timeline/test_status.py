"""The status of a job, against the real scripts and against a store in memory."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from holdfast.app import create_broker
from holdfast.client.manager import TaskManager
from holdfast.core.delivery import Settle
from holdfast.timeline.jobs import set_job, tell_job
from tests.lua.namespace import namespace
from tests.schedules.stage import Stage
from tests.timeline.jobs import RAN, Jobs

pytestmark = pytest.mark.anyio


@pytest.fixture
async def stage(server_url: str) -> AsyncIterator[Stage]:
    async with namespace(server_url) as space:
        yield await Stage(space).begin()


async def test_each_event_is_read_off_schedule_and_task(stage: Stage) -> None:
    manager = TaskManager(stage.space.store, queue=stage.space.queue)

    async def status() -> str:
        return str((await tell_job(manager, "job")).status)

    await set_job(manager, "job", f"AT:{stage.at(60) // 1000}")
    assert await status() == f"TML:{stage.at(0) // 1000}"
    [task] = await stage.until(60, step=60)
    assert await status() == f"ENQ:{stage.at(60) // 1000}"
    await stage.until(70)
    await stage.work()
    assert await status() == f"WRK:{stage.at(70) // 1000}"
    await stage.until(80)
    await stage.end(task)
    assert await status() == f"STP:{stage.at(80) // 1000}"
    await set_job(manager, "job", "CONTINUE")
    [task] = await stage.work()
    await stage.end(task)
    assert await status() == f"TML:{stage.at(80) // 1000}"
    [task] = await stage.round() or await stage.until(90)
    await stage.work()
    await stage.end(task, Settle.FAILED)
    assert (await status()).startswith("DIE:")
    assert (await tell_job(manager, "job")).schedule == "CONTINUE"
    await manager.schedules.pause("job", "cannot be fired: a rule that nobody can read")
    assert (await status()).startswith("BAD:")
    await manager.schedules.resume("job")
    await manager.schedules.pause("job")
    await set_job(manager, "job", "CONTINUE")
    assert (await status()).startswith("STP:")


async def test_a_number_is_a_result_where_nothing_continues(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(RAN, str(tmp_path / "ran"))
    async with create_broker(type="memory") as broker, broker.working(Jobs("A:A:B")):
        await set_job(broker.manager, "number:A", "NOW")
        record = await broker.manager.wait((await broker.manager.schedules.get("number:A")).task, timeout=60)
        assert json.loads(record.result or b"")["parts"] == [{"kind": "data", "data": 41}]
