"""No schedule's keys or tasks are another's, whatever its id; what earlier versions have written is read and moved."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator

import pytest

from holdfast.core.tasks import Wanted
from holdfast.errors import StoreError
from tests.lua.namespace import Namespace
from tests.schedules.earlier import SCRIPTS, EarlierFiring
from tests.schedules.stage import EVERYTHING, Stage

pytestmark = pytest.mark.anyio

NAMES = ("X", "X:history", "X:history:history", "a:b", "a.b")


@pytest.fixture
async def earlier(stage: Stage) -> AsyncIterator[Stage]:
    """An earlier version beside the one under test, on the same queue and clock."""
    space = Namespace(stage.space.url, SCRIPTS, stage.space.queue)
    space.clock = stage.space.clock
    made = Stage(space)
    made.schedules, made.origin = stage.schedules, stage.origin
    made.firing = EarlierFiring(space.store, space.queue, EVERYTHING)
    yield made
    await space.aclose()


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


async def test_history_of_an_earlier_version_is_read_and_moved(stage: Stage, earlier: Stage) -> None:
    await stage.set("X", every=60, overlap="allow")
    await stage.space.advance(60_000)
    await earlier.firing.round()
    before = stage.space.key("schedule:X:history")
    assert await stage.space.do("LLEN", before) == 1
    assert await lines(stage, "X") == [(stage.at(60), "fired")]
    await stage.until(120, step=60)
    assert await stage.space.do("EXISTS", before) == 0
    assert await lines(stage, "X") == [(stage.at(60), "fired"), (stage.at(120), "fired")]


async def test_schedule_whose_key_an_earlier_version_has_taken_can_be_set(stage: Stage, earlier: Stage) -> None:
    await stage.set("X", every=60, overlap="allow")
    await stage.space.advance(60_000)
    await earlier.firing.round()
    assert (await stage.schedules.list()).spoilt == ()
    assert await stage.schedules.known(["X:history"]) == ()
    assert await stage.space.store.pause_schedule("X:history", "x", None) == "unknown"
    await stage.space.advance(60_000)
    await earlier.firing.round()
    assert await stage.space.store.resume_schedule("X:history", 1, None, None) == "unknown"
    await stage.space.advance(60_000)
    await earlier.firing.round()
    assert await stage.space.store.remove_schedule("X:history") == "unknown"
    await stage.space.advance(60_000)
    await earlier.firing.round()
    await stage.set("X:history", every=60, overlap="allow")
    await stage.until(300, step=60)
    assert await lines(stage, "X") == [(stage.at(60 * minute), "fired") for minute in range(1, 6)]
    assert await lines(stage, "X:history") == [(stage.at(300), "fired")]


async def test_no_history_stays_behind_a_schedule_that_an_earlier_version_has_fired(
    stage: Stage, earlier: Stage
) -> None:
    await stage.set("X", every=60, overlap="allow")
    await stage.space.advance(60_000)
    await earlier.firing.round()
    await stage.schedules.remove("X")
    assert await stage.space.do("EXISTS", stage.space.key("schedule:X:history"), stage.space.key("fires:X")) == 0


@pytest.mark.parametrize("names", [("X", "a:b", "a.b"), NAMES])
async def test_versions_side_by_side_neither_lose_nor_double_a_fire(
    stage: Stage, earlier: Stage, names: tuple[str, ...]
) -> None:
    """Where the earlier one stops at what it cannot write, the later one goes on."""
    for name in names:
        await stage.set(name, every=60, overlap="allow", misfire="all:10")
    for minute in range(1, 6):
        await stage.space.advance(60_000)
        for steward in (earlier.firing, stage.firing)[:: 1 if minute % 2 else -1]:
            try:
                await steward.round()
            except StoreError:
                assert (steward, "X:history" in names) == (earlier.firing, True)
    await stage.until(360, step=60)  # the earlier one is gone
    moments = [f"20270101T000{minute}00Z" for minute in range(1, 7)]
    assert await made(stage) == {(name, moment): 1 for name in names for moment in moments}


async def test_fire_that_an_earlier_version_has_made_is_not_made_again(stage: Stage, earlier: Stage) -> None:
    """A store that was set back to before that fire knows its task by the id that the earlier version gave it."""
    await stage.set("a:b", every=60, overlap="queue-one", misfire="all:5")
    key = stage.space.key("schedule:a:b")
    copy = await stage.space.do("DUMP", key)
    await stage.space.advance(60_000)
    await earlier.firing.round()
    await stage.space.do("RESTORE", key, 0, copy, "REPLACE")
    await stage.space.do("ZADD", stage.space.key("schedules"), stage.at(60), "a:b")
    assert await stage.round() == []
    [line, *_] = await stage.schedules.history("a:b", 1)
    task = "a@b@20270101T000100Z"
    assert (line.what, line.detail, line.task) == ("skipped", "made before", task)
    assert (await stage.schedules.get("a:b")).task == task
    assert await stage.until(120, step=60) == []  # waits for that one to end
    await stage.work()
    await stage.end(task)
    assert len(await stage.round()) == 1


async def test_task_that_is_no_fire_of_it_keeps_no_fire_back(stage: Stage) -> None:
    await stage.set("a:b", every=60)
    await stage.space.submit("a@b@20270101T000100Z")
    assert len(await stage.until(60)) == 1
