"""A cancel that overtakes its task: kept for a while, and only so many."""

from __future__ import annotations

import pytest

from tests.lua.namespace import Namespace
from tests.lua.operations import control, run, submission

pytestmark = pytest.mark.anyio

KEPT_MS = 600_000
MOST = 10_000


@pytest.mark.parametrize("delay_ms", [None, 5_000])
async def test_a_task_that_comes_after_its_cancel_never_runs(space: Namespace, delay_ms: int | None) -> None:
    await space.register("a")
    assert await space.store.cancel("t1", "enough") == "unknown"
    assert await space.submit("t1", delay_ms=delay_ms) == ["new"]
    assert not await space.take("a")
    task = await space.task("t1")
    assert (task.state, task.reason) == ("canceled", "canceled before it came")
    await space.check()


async def test_orders_on_the_queue_may_come_in_either_order(space: Namespace) -> None:
    await space.register("a")
    await space.push(control("cancel", "f1"), run("f1"), run("f2"))
    assert [delivery.task_id for delivery in await space.take("a")] == ["f2"]
    assert await space.state("f1") == "canceled"
    assert not await space.reasons()
    await space.check()


async def test_an_early_cancel_counts_once(space: Namespace) -> None:
    await space.store.cancel("t1", "enough")
    await space.submit("t1")
    await space.clock.advance(KEPT_MS)
    await space.store.trim(0, 10)
    await space.submit("t1")
    assert await space.state("t1") == "submitted"
    await space.check()


async def test_an_early_cancel_counts_for_its_time(space: Namespace) -> None:
    await space.store.cancel("t1", "enough")
    await space.store.cancel("t2", "enough")
    await space.clock.advance(KEPT_MS)
    await space.submit("t1")
    await space.clock.advance(1)
    await space.submit("t2")
    assert [await space.state(task_id) for task_id in ("t1", "t2")] == ["canceled", "submitted"]
    await space.check()


async def test_only_the_latest_early_cancels_are_kept(space: Namespace) -> None:
    flood = [item for number in range(MOST) for item in (str(space.clock.now_ms), f"x{number}")]
    await space.do("ZADD", space.key("cancels"), str(space.clock.now_ms - 1), "first", *flood)
    await space.clock.advance(1)
    await space.store.cancel("last", "enough")
    assert await space.do("ZCARD", space.key("cancels")) == MOST
    await space.store.submit([submission("first", space.queue), submission("last", space.queue)])
    assert [await space.state(task_id) for task_id in ("first", "last")] == ["submitted", "canceled"]
    await space.clock.advance(KEPT_MS + 1)
    await space.store.cancel("later", "enough")
    assert await space.do("ZCARD", space.key("cancels")) == 1
    await space.check()
