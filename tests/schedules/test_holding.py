"""The fields of a schedule, how it is listed, and how long a steward sleeps at most."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from holdfast.core.task_states import State
from holdfastd.steward.duties.schedule_duties import schedule_fires
from tests.schedules.stage import EVERYTHING, Stage

pytestmark = pytest.mark.anyio

SCAN = 7.0  # seconds


async def test_a_schedule_holds_what_its_tasks_are_made_of(stage: Stage) -> None:
    fields = {"name": "report.send", "kwargs": {"region": "eu"}, "lane": "slow", "max_attempts": 5, "timeout": 1.5}
    await stage.set("j", schedule="NOW", text=None, **fields)
    [task_id] = await stage.round()
    record = await stage.space.task(task_id)
    assert (record.name, record.lane, record.max_attempts, record.state) == ("report.send", "slow", 5, State.SUBMITTED)
    [delivery] = (await stage.space.pull("w", lanes=["slow"])).deliveries
    assert (delivery.timeout_ms, delivery.max_attempts) == (1500, 5)
    assert b'"kwargs":{"region":"eu"}' in delivery.operation


async def test_it_is_set_listed_paused_resumed_and_removed(stage: Stage) -> None:
    following = await stage.schedules.upsert("j", every=60, text="go")
    assert following == datetime.fromtimestamp(stage.at(60) / 1000, UTC)
    await stage.schedules.upsert("later", every=3600, text="go")
    await stage.schedules.pause("j", "year end")
    listed = {schedule.definition.schedule_id: schedule for schedule in (await stage.schedules.list()).schedules}
    assert (listed["j"].expected, listed["j"].paused) == (stage.at(60), "year end")
    assert (listed["later"].expected, listed["later"].paused) == (stage.at(3600), "")
    assert await stage.until(120, step=30) == []
    await stage.schedules.resume("j")
    assert len(await stage.until(180, step=30)) == 1
    await stage.schedules.remove("j")
    assert await stage.until(600, step=60) == []
    assert [schedule.definition.schedule_id for schedule in (await stage.schedules.list()).schedules] == ["later"]


@pytest.mark.parametrize(("every", "longest"), [(None, SCAN), (3600, SCAN), (2, 2.0)])
async def test_a_steward_sleeps_no_longer_than_its_scan_interval(
    stage: Stage, every: float | None, longest: float
) -> None:
    if every is not None:
        await stage.set("j", every=every)
    duty = schedule_fires(stage.space.store, stage.space.queue, EVERYTHING, SCAN)
    assert 0 < await duty.run_once() <= longest


async def test_a_resume_that_has_seen_an_older_definition_changes_nothing(stage: Stage) -> None:
    await stage.set("j", every=60)
    await stage.schedules.pause("j", "year end")
    [seen] = (await stage.schedules.list()).schedules
    await stage.set("j", every=3600)
    store, definition = stage.space.store, seen.definition
    assert await store.resume_schedule("j", seen.generation, stage.at(60), stage.at(60)) == "changed"
    [record] = (await stage.schedules.list()).schedules
    assert (record.paused, record.definition.cadence) != ("", definition.cadence)
    assert record.paused == "year end"
    assert await stage.until(120, step=30) == []
