"""cancel, pause, resume: one wins, and both sides are told the truth."""

from __future__ import annotations

import pytest

from holdfast.core.delivery import Settle
from tests.lua.namespace import Namespace
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio


async def into(space: Namespace, state: str) -> None:
    """t1 in this state; worker `a` has had it where somebody must."""
    await space.register("a")
    delay = 9_000 if state == "delayed" else None
    await space.store.submit([submission("t1", space.queue, delay_ms=delay)])
    if state in {"submitted", "delayed"}:
        return
    [delivery] = await space.take("a")
    kinds = {"working": None, "suspended": Settle.SUSPENDED, "completed": Settle.COMPLETED, "failed": Settle.FAILED}
    kinds |= {"input-required": Settle.INPUT_REQUIRED, "auth-required": Settle.AUTH_REQUIRED}
    if kind := kinds[state]:
        await space.settle("a", delivery, kind)


OPEN = ["submitted", "delayed", "working", "input-required", "auth-required", "suspended"]


@pytest.mark.parametrize("state", OPEN)
async def test_whatever_has_not_ended_can_be_canceled(space: Namespace, state: str) -> None:
    await into(space, state)
    assert await space.state("t1") == state
    assert await space.store.cancel("t1", "enough") == "canceled"
    assert await space.store.cancel("t1", "again") == "canceled"
    await space.clock.advance(10_000)
    await space.store.promote(10)
    assert not await space.take("a")
    assert (await space.task("t1")).reason == "enough"
    await space.check()


@pytest.mark.parametrize("state", ["completed", "failed"])
async def test_what_has_ended_stays_as_it_ended(space: Namespace, state: str) -> None:
    await into(space, state)
    for order in (space.store.cancel, space.store.pause, space.store.resume):
        assert await order("t1", "late") == state
    await space.check()


async def test_a_cancel_reaches_the_running_handler(space: Namespace) -> None:
    await into(space, "working")
    claim = (await space.task("t1")).claim
    await space.store.cancel("t1", "enough")
    hint = await space.store.listen("a", [space.queue], 5.0)
    assert hint is not None
    assert (hint.kind, hint.task_id, hint.claim) == ("cancel", "t1", claim)
    assert await space.do("PTTL", space.key("control:a")) >= 0 or not await space.do("EXISTS", space.key("control:a"))


@pytest.mark.parametrize("state", ["submitted", "delayed"])
async def test_a_waiting_task_is_parked_at_once_and_resumed_in_the_same_turn(space: Namespace, state: str) -> None:
    await into(space, state)
    assert await space.store.pause("t1", "wait") == "suspended"
    await space.clock.advance(10_000)
    assert not await space.take("a")
    await space.check()
    assert await space.store.resume("t1", "go") == "submitted"
    [delivery] = await space.take("a")
    assert (delivery.turn, delivery.delivery) == (1, 1)
    await space.check()


async def test_a_running_task_is_asked_to_suspend_and_resumed_from_its_checkpoint(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    assert await space.store.pause("t1", "wait") == "working"
    hint = await space.store.listen("a", [space.queue], 5.0)
    assert hint is not None
    assert hint.kind == "pause"
    await space.settle("a", delivery, Settle.SUSPENDED, checkpoint=b"half")
    await space.store.resume("t1", "go")
    [again] = await space.take("a")
    assert (again.turn, again.delivery, again.checkpoint) == (1, 2, b"half")
    await space.check()


async def test_a_late_result_does_not_end_a_pause(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.crash("a")
    await space.store.pause("t1", "wait")
    assert await space.settle("a", delivery, Settle.COMPLETED) == "LOST"
    assert await space.state("t1") == "suspended"
    await space.check()
    await space.store.resume("t1", "go")
    assert await space.settle("a", delivery, Settle.COMPLETED) == "OK"
    await space.check()


@pytest.mark.parametrize("state", ["input-required", "auth-required"])
async def test_a_task_that_has_asked_can_be_run_again(space: Namespace, state: str) -> None:
    await into(space, state)
    assert await space.store.pause("t1", "wait") == state
    assert await space.store.resume("t1", "go") == "submitted"
    [delivery] = await space.take("a")
    assert delivery.turn == 2
    await space.settle("a", delivery, Settle.COMPLETED)
    await space.check()


@pytest.mark.parametrize("state", ["submitted", "delayed", "working"])
async def test_what_is_not_parked_is_not_resumed(space: Namespace, state: str) -> None:
    await into(space, state)
    assert await space.store.resume("t1", "go") == state
    await space.check()


async def test_orders_for_nobody_answer_unknown(space: Namespace) -> None:
    for order in (space.store.cancel, space.store.pause, space.store.resume):
        assert await order("t1", "x") == "unknown"
    assert await space.store.get("t1") is None
