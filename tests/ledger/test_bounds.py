"""Permits of tasks that a ledger puts back: each belongs to a task that runs, and none is lost or left behind."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Delivery, Settle
from holdfast.core.lanes import LaneBound, LaneLimit
from tests.ledger.ledger import Ledger
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio
BOUNDS = [LaneBound.LIMIT, LaneBound.KEYS]


async def bounded(books: Ledger, bound: LaneBound) -> Delivery:
    """The first of two tasks. They run one after the other, by a limit of the lane or by a key that all tasks have."""
    await books.keep()
    await books.redis.register("a")
    if bound is LaneBound.LIMIT:
        await books.store.bound([LaneLimit(bound, books.queue, "1")])
    key = "k" if bound is LaneBound.KEYS else ""
    await books.store.submit([submission(task_id, books.queue, concurrency_key=key) for task_id in ("t1", "t2")])
    [delivery] = await books.redis.take("a")
    assert delivery.task_id == "t1"
    await books.keep()
    return delivery


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("end", [Settle.COMPLETED, Settle.INPUT_REQUIRED])
async def test_a_task_that_is_put_back_over_an_earlier_moment_keeps_no_permit(
    books: Ledger, bound: LaneBound, end: Settle
) -> None:
    """Redis goes back to the moment when the task ran. The ledger knows how that run ended."""
    delivery = await bounded(books, bound)
    before = await books.picture()
    await books.redis.settle("a", delivery, end)
    await books.keep()
    await books.set_back(before)
    await books.wait_given()
    await books.redis.check()
    await books.redis.register("b")
    assert [each.task_id for each in await books.redis.take("b")] == ["t2"]
    await books.redis.check()


@pytest.mark.parametrize("bound", BOUNDS)
async def test_a_task_that_ran_when_redis_lost_everything_has_its_permit_again_with_its_next_run(
    books: Ledger, bound: LaneBound
) -> None:
    await bounded(books, bound)
    await books.lose()
    await books.redis.check()
    assert not await books.redis.do("HGET", books.redis.key("task:t1"), "permits")
    await books.redis.register("b")
    assert [each.task_id for each in await books.redis.take("b")] == ["t1"]
    await books.redis.check()
