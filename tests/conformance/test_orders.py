"""Cancel, pause, resume: one wins, both sides are told the truth, and a running handler hears of it."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Hint, Holding, Settle
from holdfast.core.worker_records import WorkerKind
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


@pytest.mark.parametrize("kind", [Settle.RELEASE, Settle.RETRY, Settle.DEFER])
async def test_a_pause_outlives_a_run_that_is_given_back(stand: Stand, kind: Settle) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    assert await stand.store.pause("t1", "wait") == "working"
    await stand.settle("a", delivery, kind, delay_ms=700, checkpoint=b'"half"')
    assert ((await stand.task("t1")).state, (await stand.task("t1")).reason) == ("suspended", "wait")
    await stand.advance(10_000)
    await stand.store.promote(10)
    assert not await stand.take("a")
    assert await stand.store.resume("t1", "go") == "submitted"
    [again] = await stand.take("a")
    assert (again.turn, again.delivery, again.checkpoint) == (1, 2, b'"half"')


@pytest.mark.parametrize("charged", [True, False])
@pytest.mark.parametrize("deaths", [1, 2])
async def test_a_pause_outlives_its_worker(stand: Stand, charged: bool, deaths: int) -> None:
    await stand.register("a", "b", "c", kind=WorkerKind.SINGLE)
    await stand.submit("t1")
    for worker in "ab"[: deaths - 1]:
        await stand.take(worker)
        await stand.crash(worker, charged=charged)
    await stand.take("b")
    assert await stand.store.pause("t1", "wait") == "working"
    await stand.crash("b", charged=charged)
    task = await stand.task("t1")
    assert (task.state, task.crashes) == ("suspended", deaths * charged)
    await stand.advance(30_000)
    await stand.store.promote(10)
    assert not await stand.take("c")
    assert await stand.store.resume("t1", "go") == "submitted"
    assert await stand.take("c")


async def test_a_pause_outlives_the_end_of_a_turn_where_another_waits(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.message("t1", "m2")
    assert await stand.store.pause("t1", "wait") == "working"
    await stand.settle("a", delivery, Settle.COMPLETED)
    assert ((await stand.task("t1")).state, (await stand.task("t1")).turn) == ("suspended", 2)
    assert not await stand.take("a")
    await stand.store.resume("t1", "go")
    [again] = await stand.take("a")
    assert again.turn == 2


async def test_a_pause_goes_back_with_what_a_worker_does_not_hold(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    await stand.take("a")
    await stand.store.pause("t1", "wait")
    assert (await stand.store.renew("a", "live", 1, [])).returned == 1
    assert await stand.state("t1") == "suspended"


async def test_a_renewal_repeats_a_pause_until_the_task_ends_or_is_resumed(stand: Stand) -> None:
    """The hint may have been lost."""
    await stand.register("a")
    await stand.submit("t1", "t2")
    held = [Holding(delivery.task_id, delivery.claim) for delivery in await stand.take("a")]
    await stand.store.pause("t2", "wait")
    for _ in range(2):
        assert (await stand.store.renew("a", "live", 1, held)).to_pause == (("t2", held[1].claim),)
    assert await stand.store.resume("t2", "go") == "working"
    assert (await stand.store.renew("a", "live", 1, held)).to_pause == ()


async def test_a_pause_that_was_withdrawn_stops_nothing(stand: Stand) -> None:
    """Its hint may have reached the handler: then the task goes on at the head of its lane."""
    await stand.register("a", "b")
    await stand.submit("t1", "t2")
    [delivery] = await stand.take("a", 1)
    await stand.store.pause("t1", "wait")
    assert await stand.store.resume("t1", "go") == "working"
    await stand.settle("a", delivery, Settle.SUSPENDED, checkpoint=b'"half"')
    assert await stand.state("t1") == "submitted"
    [again] = await stand.take("a", 1)
    assert (again.task_id, again.turn, again.checkpoint) == ("t1", 1, b'"half"')
    await stand.crash("a")
    assert await stand.state("t1") == "submitted"


async def test_the_last_of_several_orders_counts(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    for order in (stand.store.pause, stand.store.resume, stand.store.pause):
        await order("t1", "asked")
    await stand.settle("a", delivery, Settle.SUSPENDED)
    assert await stand.state("t1") == "suspended"


@pytest.mark.parametrize("kind", [Settle.SUSPENDED, Settle.RELEASE, Settle.COMPLETED])
async def test_a_message_withdraws_a_pause_that_was_asked_before_it(stand: Stand, kind: Settle) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.store.pause("t1", "wait")
    await stand.message("t1", "m2")
    assert (await stand.store.renew("a", "live", 1, [Holding("t1", delivery.claim)])).to_pause == ()
    await stand.settle("a", delivery, kind)
    assert await stand.state("t1") == "submitted"
    for turn in range(1 if kind is Settle.RELEASE else 2, 3):
        [again] = await stand.take("a")
        assert again.turn == turn
        await stand.settle("a", again, Settle.COMPLETED)
    assert await stand.state("t1") == "completed"


async def test_a_message_that_is_known_withdraws_no_pause(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.message("t1", "m2")
    await stand.store.pause("t1", "wait")
    await stand.message("t1", "m2")
    await stand.settle("a", delivery, Settle.SUSPENDED)
    assert await stand.state("t1") == "suspended"


async def test_a_withdrawn_pause_counts_for_the_run_that_it_met(stand: Stand) -> None:
    await stand.register("a", "b")
    await stand.submit("t1")
    await stand.take("a")
    await stand.store.pause("t1", "wait")
    await stand.store.resume("t1", "go")
    await stand.crash("a")
    [again] = await stand.take("b")
    await stand.settle("b", again, Settle.SUSPENDED)
    assert await stand.state("t1") == "suspended"


async def test_a_pause_that_was_carried_out_is_over(stand: Stand) -> None:
    """The dead worker's result comes late, after the resume: the next turn is not to pause."""
    await stand.register("a", "b")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.message("t1", "m2")
    await stand.store.pause("t1", "wait")
    await stand.crash("a")
    assert await stand.store.resume("t1", "go") == "submitted"
    await stand.settle("a", delivery, Settle.COMPLETED)
    assert ((await stand.task("t1")).state, (await stand.task("t1")).turn) == ("submitted", 2)


async def test_a_pause_keeps_no_dead_letter_from_its_end(stand: Stand) -> None:
    workers = [f"w{number}" for number in range(10)]
    await stand.register(*workers, kind=WorkerKind.SINGLE)
    await stand.submit("t1")
    for worker in workers:
        if not await stand.take(worker):
            break
        await stand.store.pause("t1", "wait")
        await stand.crash(worker)
        await stand.store.resume("t1", "go")
    task = await stand.task("t1")
    assert (task.state, task.dead) == ("failed", True)


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
