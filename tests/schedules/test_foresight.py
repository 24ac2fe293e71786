"""Fires are prepared before they are due, and sent when they are: on a clock that the test moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import anyio
import pytest

from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.core.schedule_records import Due, FireOrder, ScheduleRecord
from tests.lua.namespace import CAUSE
from tests.schedules.stage import EVERYTHING, Stage

if TYPE_CHECKING:
    from holdfast.core.quiet_hosts import HaltScope
    from holdfast.store import Store

pytestmark = pytest.mark.anyio


class Watched:
    """The store, and what was asked of it."""

    def __init__(self, stage: Stage) -> None:
        self.store: Store = stage.space.store
        self.asked: list[str] = []
        self.answers: list[str] = []
        self.fires: list[int] = []
        self.fired_first = anyio.Event()

    async def due_schedules(self, limit: int, scope: HaltScope | None = None) -> Due:
        found = await self.store.due_schedules(limit, scope)
        self.asked.append(f"due {len(found.records)}")
        return found

    async def schedules_soon(self, *args: int) -> tuple[ScheduleRecord, ...]:
        found = await self.store.schedules_soon(*args)
        self.asked.append(f"soon {len(found)}")
        return found

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[str]:
        answers = await self.store.fire(orders, scope)
        self.asked.append(f"fire {len(orders)}")
        if len(orders) > 1:
            self.fired_first.set()
        self.answers += answers
        self.fires.append(sum(len(order.fires) for order in orders))
        return answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self.store, name)


@pytest.fixture
def watched(stage: Stage) -> Watched:
    seen = Watched(stage)
    stage.firing = ScheduleFirer(seen, stage.space.queue, EVERYTHING, lambda: stage.space.clock.now_ms / 1000)  # type: ignore[arg-type]  # what it lacks it hands on
    return seen


async def test_what_is_due_has_been_made_ready_and_needs_no_look(stage: Stage, watched: Watched) -> None:
    for number in range(120):
        await stage.set(f"j{number}", at=stage.at(10) / 1000)
    assert await stage.firing.round() == 8  # time to make them ready
    await stage.space.advance(8000)
    watched.asked.clear()
    assert await stage.firing.round() == 2
    assert watched.asked == ["due 0", "soon 100", "soon 20"]
    await stage.space.advance(2000)
    watched.asked.clear()
    await stage.firing.round()
    assert watched.answers == ["fired"] * 120
    assert watched.asked == ["fire 50", "fire 50", "fire 20", "due 0"]


async def test_a_stream_of_fires_is_not_read_again_for_each(stage: Stage, watched: Watched) -> None:
    for number in range(20):
        await stage.set(f"j{number}", at=stage.at(2 + number / 100) / 1000)
    made = await stage.until(3, step=0.01)
    assert len(made) == 20
    assert sum(operation.startswith("soon") for operation in watched.asked) < 5


async def test_what_was_changed_after_it_was_made_ready_is_not_made(stage: Stage, watched: Watched) -> None:
    for name in ("changed", "paused", "removed", "sound"):
        await stage.set(name, at=stage.at(2) / 1000)
    await stage.firing.round()
    await stage.set("changed", at=stage.at(3) / 1000)
    await stage.schedules.pause("paused")
    await stage.schedules.remove("removed")
    await stage.space.advance(2000)
    assert [task_id.split("@")[0] for task_id in await stage.round()] == ["sound"]
    assert sorted(watched.answers) == ["changed", "fired", "gone", "paused"]
    assert len(await stage.until(3)) == 1


async def test_what_was_made_ready_counts_for_its_moment_alone(stage: Stage, watched: Watched) -> None:
    """The steward was stopped: what was to be on time is late, and its policies say what becomes of that."""
    await stage.set("skipped", at=stage.at(2) / 1000, misfire="skip")
    await stage.set("useless", at=stage.at(2) / 1000, start_deadline=60)
    await stage.firing.round()
    await stage.space.advance(600_000)
    assert await stage.round() == []
    assert watched.answers[:2] == ["stale", "stale"]
    assert await stage.fates("skipped") == ["missed"]
    assert await stage.fates("useless") == ["missed"]


async def test_a_clock_that_was_put_back_makes_nothing_early(stage: Stage, watched: Watched) -> None:
    await stage.set("j", at=stage.at(2) / 1000)
    await stage.firing.round()
    [order] = stage.firing._lookahead._ready  # pyright: ignore[reportPrivateUsage]  # as if sent too early
    assert await watched.fire([order]) == ["stale"]
    await stage.space.advance(-3_600_000)
    assert await stage.round() == []
    assert len(await stage.until(2, step=3600)) == 1


async def test_recovery_does_not_wait_for_a_thousand_fires(stage: Stage, watched: Watched) -> None:
    """A worker dies when the first of them have been made: its task goes back before the last."""
    await stage.set("running", at=stage.at(0) / 1000)
    await stage.firing.round()
    [task_id] = await stage.work()
    specs = {f"j{number}": ScheduleSpec(at=stage.at(5) / 1000, text="go") for number in range(1000)}
    await stage.schedules.put_all(specs)
    await stage.space.advance(5000)

    async def recover() -> None:
        await watched.fired_first.wait()
        await stage.space.store.recover("w", CAUSE, charged=True)

    async with anyio.create_task_group() as group:
        group.start_soon(recover)
        group.start_soon(stage.firing.round)
    events = [(fields[b"event"], fields[b"id"]) for fields in await stage.events()]
    fires = [place for place, (event, _) in enumerate(events) if event == b"schedule-fired"]
    assert len(fires) == 1001
    back = next(
        place for place, (event, subject) in enumerate(events) if event == b"crashed" and subject == task_id.encode()
    )
    assert back < fires[500]


async def test_fires_are_made_in_parts(stage: Stage, watched: Watched) -> None:
    """However many are due: what others ask of the store waits for one part, not for all."""
    for name in ("a", "b"):
        await stage.set(name, every=1, misfire="all:30", overlap="allow")
    for number in range(120):
        await stage.set(f"j{number}", at=stage.at(10) / 1000)
    await stage.space.advance(600_000)
    await stage.firing.round()
    assert watched.answers == ["fired"] * 122
    assert max(watched.fires) <= 50
    assert sum(watched.fires) == 180
