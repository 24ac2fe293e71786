"""Messages: one that comes while a turn runs waits for it; an answer makes the next turn; none is lost in silence."""

from __future__ import annotations

import pytest

from holdfast.core.acceptance import Accepted
from holdfast.core.delivery import Settle
from tests.conformance.stand import Stand
from tests.lua.operations import submission

pytestmark = pytest.mark.anyio


async def test_a_message_for_a_running_task_is_its_next_turn(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    assert await stand.message("t1", "m2") is Accepted.PENDING
    assert await stand.message("t1", "m2") is Accepted.DUPLICATE
    assert await stand.message("t1", "m2", "other") is Accepted.CONFLICT
    assert (await stand.task("t1")).pending == 1
    await stand.settle("a", delivery, Settle.COMPLETED, result=b'"one"')
    [second] = await stand.take("a")
    assert (second.turn, second.history) == (2, (delivery.operation, b'"one"'))
    await stand.settle("a", second, Settle.COMPLETED, result=b'"two"')
    task = await stand.task("t1")
    assert (task.state, task.turn, task.pending, task.result) == ("completed", 2, 0, b'"two"')


async def test_a_message_for_nobody_makes_no_task(stand: Stand) -> None:
    assert await stand.store.message(submission("t1", stand.queue)) == "unknown"
    assert await stand.store.get("t1") is None


@pytest.mark.parametrize("kind", [Settle.INPUT_REQUIRED, Settle.AUTH_REQUIRED])
async def test_an_answer_lets_a_task_that_asked_go_on(stand: Stand, kind: Settle) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, kind, result=b'"which?"')
    assert await stand.message("t1", "m2", "that one") is Accepted.TURN
    [second] = await stand.take("a")
    assert b"that one" in second.operation
    assert (second.turn, second.history) == (2, (delivery.operation, b'"which?"'))


async def test_messages_join_the_turn_that_a_pause_has_interrupted_and_share_its_outcome(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.message("t1", "m2", "waits")
    await stand.settle("a", delivery, Settle.SUSPENDED, checkpoint=b'"half"')
    assert await stand.message("t1", "m3", "wakes") is Accepted.TURN
    [again] = await stand.take("a")
    assert (again.checkpoint, again.history[0], again.history[1::2]) == (b'"half"', delivery.operation, (b"", b""))
    assert b"waits" in again.history[2]
    assert b"wakes" in again.operation
    await stand.settle("a", again, Settle.COMPLETED, result=b'"all"')
    task = await stand.task("t1")
    assert (task.state, task.message_id, task.turn, task.pending, task.result) == ("completed", "m3", 3, 0, b'"all"')
    assert not await stand.take("a")


@pytest.mark.parametrize("kind", [Settle.FAILED, Settle.REJECTED])
async def test_a_turn_that_fails_sets_the_waiting_messages_aside(stand: Stand, kind: Settle) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.message("t1", "m2", "unheard")
    await stand.settle("a", delivery, kind)
    [aside] = await stand.store.unreadable(10)
    assert b"unheard" in aside.raw
    assert (await stand.task("t1")).pending == 0


async def test_attempts_begin_anew_with_a_turn(stand: Stand) -> None:
    await stand.register("a")
    await stand.submit("t1")
    [delivery] = await stand.take("a")
    await stand.settle("a", delivery, Settle.RETRY)
    [delivery] = await stand.take("a")
    assert delivery.attempts == 1
    await stand.message("t1", "m2")
    await stand.settle("a", delivery, Settle.COMPLETED)
    [second] = await stand.take("a")
    assert (second.turn, second.attempts) == (2, 0)
