"""Messages for tasks that exist: they wait, begin a turn, or are set aside; none is lost."""

from __future__ import annotations

import pytest

from holdfast.core.deliveries import Settle
from holdfast.core.records import Accepted
from tests.lua.messages import message_of
from tests.lua.namespace import Namespace
from tests.lua.operations import run

pytestmark = pytest.mark.anyio


async def test_a_message_for_a_working_task_waits_and_begins_the_next_turn(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [first] = await space.take("a")
    assert await space.message("t1", "m2") is Accepted.PENDING
    assert await space.settle("a", first, Settle.COMPLETED, result=b'"one"') == "OK"
    [second] = await space.take("a")
    assert (second.turn, message_of(second.operation.decode())) == (2, "m2")
    assert second.history == (first.operation, b'"one"')
    await space.settle("a", second, Settle.COMPLETED)
    assert await space.state("t1") == "completed"
    await space.check()


async def test_messages_run_in_the_order_in_which_they_came(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    for message in ("m2", "m3", "m4"):
        await space.message("t1", message)
    ran: list[str] = []
    while taken := await space.take("a"):
        ran.append(message_of(taken[0].operation.decode()))
        await space.settle("a", taken[0], Settle.COMPLETED)
    assert ran == ["m-t1", "m2", "m3", "m4"]
    await space.check()


@pytest.mark.parametrize("kind", [Settle.FAILED, Settle.REJECTED, Settle.EXHAUSTED, Settle.UNREADABLE])
async def test_a_turn_that_fails_sets_waiting_messages_aside(space: Namespace, kind: Settle) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.message("t1", "m2")
    await space.settle("a", delivery, kind, reason="why")
    assert any("before this message ran" in reason for reason in await space.reasons())
    assert (await space.task("t1")).pending == 0
    await space.check()


async def test_a_canceled_task_sets_waiting_messages_aside(space: Namespace) -> None:
    await space.submit("t1")
    await space.message("t1", "m2")
    await space.store.cancel("t1", "enough")
    assert len(await space.reasons()) == 1
    await space.check()


@pytest.mark.parametrize("kind", [Settle.INPUT_REQUIRED, Settle.AUTH_REQUIRED])
async def test_a_message_answers_a_task_that_has_asked(space: Namespace, kind: Settle) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, kind, result=b'"which?"')
    assert await space.state("t1") == kind
    assert await space.message("t1", "m2") is Accepted.TURN
    [again] = await space.take("a")
    assert (again.turn, again.history) == (2, (delivery.operation, b'"which?"'))
    await space.check()


async def test_a_message_that_waits_answers_the_question_at_once(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.message("t1", "m2")
    await space.settle("a", delivery, Settle.INPUT_REQUIRED)
    assert await space.state("t1") == "submitted"
    await space.check()


async def test_a_suspended_turn_goes_on_before_the_message_that_woke_it(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.SUSPENDED, checkpoint=b"half")
    assert await space.message("t1", "m2") is Accepted.TURN
    [again] = await space.take("a")
    assert (again.turn, again.checkpoint, message_of(again.operation.decode())) == (1, b"half", "m-t1")
    await space.settle("a", again, Settle.COMPLETED)
    [last] = await space.take("a")
    assert (last.turn, message_of(last.operation.decode())) == (2, "m2")
    await space.check()


async def test_a_message_that_was_seen_before_changes_nothing(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    await space.message("t1", "m2")
    assert await space.message("t1", "m2") is Accepted.DUPLICATE
    assert await space.message("t1", "m2", "other") is Accepted.CONFLICT
    assert (await space.task("t1")).pending == 1


async def test_a_message_outlives_the_crash_of_the_turn_before(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    await space.take("a")
    await space.message("t1", "m2")
    await space.crash("a")
    [again] = await space.take("b")
    await space.settle("b", again, Settle.COMPLETED)
    assert message_of((await space.take("b"))[0].operation.decode()) == "m2"
    await space.check()


async def test_a_new_turn_starts_with_clean_accounts(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    await space.take("a")
    await space.crash("a")
    [delivery] = await space.take("b")
    assert delivery.crashes == 1
    await space.message("t1", "m2")
    await space.settle("b", delivery, Settle.COMPLETED)
    [second] = await space.take("b")
    assert (second.crashes, second.attempts, second.solo) == (0, 0, False)


async def test_pushed_messages_wait_like_submitted_ones(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [first] = await space.take("a")
    await space.push(run("t1", "m2"), run("t1", "m2"), run("t1", None))
    await space.take("a")
    assert (await space.task("t1")).pending == 2
    await space.settle("a", first, Settle.COMPLETED)
    await space.check()
