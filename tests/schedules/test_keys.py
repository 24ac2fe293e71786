"""No schedule's keys or tasks are another's, whatever its id."""

from __future__ import annotations

from collections import Counter

import pytest

from holdfast.core.tasks import Wanted
from tests.schedules.stage import Stage

pytestmark = pytest.mark.anyio

NAMES = ("X", "X:history", "X:history:history", "a:b", "a.b")


async def lines(stage: Stage, schedule_id: str) -> list[tuple[int | None, str]]:
    lines = await stage.schedules.history(schedule_id, 100)
    return [(line.scheduled_at, line.what) for line in reversed(lines) if line.what in {"fired", "skipped"}]


async def made(stage: Stage) -> Counter[tuple[str, str]]:
    """How many tasks there are of each fire, by its schedule and its moment."""
    page = await stage.space.store.tasks(Wanted(), 1000)
    of = [await stage.space.do("HGET", stage.space.key(f"task:{task.task_id}"), "schedule") for task in page.tasks]
    moments = [task.task_id.rpartition("@")[2] for task in page.tasks]
    return Counter(zip((schedule_id.decode() for schedule_id in of), moments, strict=True))


async def test_history_of_one_is_not_the_record_of_another(stage: Stage) -> None:
    for name in NAMES:
        await stage.set(name, every=60, overlap="allow")
    assert len(await stage.until(120, step=60)) == 2 * len(NAMES)
    for name in NAMES:
        assert await lines(stage, name) == [(stage.at(60), "fired"), (stage.at(120), "fired")]
    await stage.schedules.remove("X")
    assert len(await lines(stage, "X:history")) == 2
    assert await stage.schedules.history("X") == ()


async def test_fires_of_similar_names_are_each_made_once(stage: Stage) -> None:
    for name in NAMES:
        await stage.set(name, every=60, overlap="allow", misfire="all:10")
    await stage.until(360, step=60)
    moments = [f"20270101T000{minute}00Z" for minute in range(1, 7)]
    assert await made(stage) == {(name, moment): 1 for name in NAMES for moment in moments}


async def test_task_that_is_no_fire_of_it_keeps_no_fire_back(stage: Stage) -> None:
    await stage.set("a:b", every=60)
    await stage.space.submit("a@b@20270101T000100Z")
    assert len(await stage.until(60)) == 1
