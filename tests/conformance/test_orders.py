"""Cancel, pause, resume: one wins, both sides are told the truth, and a running handler hears of it."""

from __future__ import annotations

import pytest

from holdfast.core.deliveries import Hint, Settle
from tests.conformance.stand import Stand

pytestmark = pytest.mark.anyio

OPEN = ["submitted", "delayed", "working", "input-required", "auth-required", "suspended"]
KINDS = {kind.value: kind for kind in (Settle.SUSPENDED, Settle.INPUT_REQUIRED, Settle.AUTH_REQUIRED, Settle.COMPLETED)}


async def into(stand: Stand, state: str) -> None:
    """t1 in this state; worker `a` has had it where somebody must."""
    await stand.register("a")
    await stand.submit("t1", delay_ms=9_000 if state == "delayed" else None)
    if state in {"submitted", "delayed"}:
        return
    [delivery] = await stand.take("a")
    if state != "working":
        await stand.settle("a", delivery, KINDS[state])


@pytest.mark.parametrize("state", OPEN)
async def test_whatever_has_not_ended_can_be_canceled(stand: Stand, state: str) -> None:
    await into(stand, state)
    assert await stand.state("t1") == state
    assert await stand.store.cancel("t1", "enough") == "canceled"
    await stand.advance(10_000)
    await stand.store.promote(10)
    assert not await stand.take("a")
    assert (await stand.task("t1")).reason == "enough"


async def test_what_has_ended_stays_as_it_ended(stand: Stand) -> None:
    await into(stand, "completed")
    for order in (stand.store.cancel, stand.store.pause, stand.store.resume):
        assert await order("t1", "late") == "completed"


async def test_orders_for_nobody_answer_unknown(stand: Stand) -> None:
    for order in (stand.store.cancel, stand.store.pause, stand.store.resume):
        assert await order("t1", "x") == "unknown"


async def test_a_cancel_that_comes_before_its_task_ends_it(stand: Stand) -> None:
    assert await stand.store.cancel("t1", "early") == "unknown"
    await stand.submit("t1")
    assert await stand.state("t1") == "canceled"
    await stand.register("a")
    assert not await stand.take("a")


@pytest.mark.parametrize("order", ["cancel", "pause"])
async def test_an_order_reaches_the_running_handler(stand: Stand, order: str) -> None:
    await into(stand, "working")
    claim = (await stand.task("t1")).claim
    await getattr(stand.store, order)("t1", "enough")
    assert await stand.store.listen("a", [stand.queue], 5.0) == Hint(order, "t1", claim)


async def test_nothing_is_recorded_after_a_cancel(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.store.cancel("t1", "enough")
    assert await stand.settle("a", delivery, Settle.COMPLETED) == "LOST"


@pytest.mark.parametrize("state", ["submitted", "delayed"])
async def test_a_waiting_task_is_parked_at_once_and_goes_on_in_its_turn(stand: Stand, state: str) -> None:
    await into(stand, state)
    assert await stand.store.pause("t1", "wait") == "suspended"
    await stand.advance(10_000)
    assert not await stand.take("a")
    assert await stand.store.resume("t1", "go") == "submitted"
    [delivery] = await stand.take("a")
    assert (delivery.turn, delivery.delivery) == (1, 1)


async def test_a_paused_handler_goes_on_from_its_checkpoint(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    assert await stand.store.pause("t1", "wait") == "working"
    await stand.settle("a", delivery, Settle.SUSPENDED, checkpoint=b'"half"')
    await stand.store.resume("t1", "go")
    [again] = await stand.take("a")
    assert (again.turn, again.delivery, again.checkpoint) == (1, 2, b'"half"')


@pytest.mark.parametrize("state", ["input-required", "auth-required"])
async def test_a_task_that_has_asked_can_be_run_again(stand: Stand, state: str) -> None:
    await into(stand, state)
    assert await stand.store.resume("t1", "go") == "submitted"
    [delivery] = await stand.take("a")
    assert delivery.turn == 2


async def test_clearing_a_lane_cancels_what_waits_in_it(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1", "t2", "t3")
    await stand.take("a", 1)
    cleared = 0
    while step := await stand.store.clear(stand.queue, 1):
        cleared += step
    assert cleared == 2
    assert [await stand.state(name) for name in ("t1", "t2", "t3")] == ["working", "canceled", "canceled"]
