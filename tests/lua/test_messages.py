"""Messages for tasks that exist: they wait, begin a turn, or are set aside; none is lost."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.core.acceptance import Accepted
from holdfast.core.delivery import Delivery, Settle
from holdfast.handler.turn import joined
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


async def paused(space: Namespace, **settled: Any) -> Delivery:
    """A task whose first turn was interrupted by a pause."""
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.settle("a", delivery, Settle.SUSPENDED, checkpoint=b"half", **settled)
    return delivery


def asked(delivery: Delivery) -> list[str]:
    """The messages of a turn: the last one, and those before it that have no outcome of their own."""
    return [message_of(raw.decode()) for raw in (*joined(delivery), delivery.operation)]


async def test_a_message_joins_the_turn_that_a_pause_has_interrupted(space: Namespace) -> None:
    first = await paused(space)
    assert await space.message("t1", "m2") is Accepted.TURN
    [again] = await space.take("a")
    assert (asked(again), again.turn, again.checkpoint) == (["m-t1", "m2"], 2, b"half")
    assert again.history == (first.operation, b"")
    await space.settle("a", again, Settle.COMPLETED, result=b'"both"')
    assert (await space.state("t1"), (await space.task("t1")).result) == ("completed", b'"both"')
    assert not await space.take("a")
    await space.check()


async def test_all_messages_that_wait_join_it_in_their_order(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.message("t1", "m2")
    await space.message("t1", "m3")
    await space.settle("a", delivery, Settle.SUSPENDED)
    await space.push(run("t1", "m4"))
    [again] = await space.take("a")
    assert (asked(again), again.turn) == (["m-t1", "m2", "m3", "m4"], 4)
    assert (await space.task("t1")).pending == 0
    for message in ("m2", "m3"):
        assert await space.message("t1", message) is Accepted.DUPLICATE
    await space.check()


async def test_messages_of_a_turn_before_do_not_belong_to_the_one_that_was_interrupted(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [first] = await space.take("a")
    await space.settle("a", first, Settle.INPUT_REQUIRED, result=b'"which?"')
    await space.message("t1", "m2")
    [second] = await space.take("a")
    await space.settle("a", second, Settle.SUSPENDED)
    await space.message("t1", "m3")
    assert (await space.task("t1")).result == b'"which?"'
    [third] = await space.take("a")
    assert asked(third) == ["m2", "m3"]
    await space.check()


async def test_what_an_interrupted_turn_has_cost_stays_with_it(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    await space.take("a")
    await space.crash("a")
    [delivery] = await space.take("b")
    await space.settle("b", delivery, Settle.RETRY)
    await space.store.pause("t1", "wait")
    await space.message("t1", "m2")
    [again] = await space.take("b")
    assert (again.crashes, again.attempts, asked(again)) == (1, 1, ["m-t1", "m2"])


async def test_a_suspect_that_a_message_wakes_stays_one(space: Namespace) -> None:
    await space.submit("t1")
    for name in ("a", "b"):
        await space.register(name)
        await space.take(name)
        await space.crash(name)
    await space.store.pause("t1", "wait")
    await space.message("t1", "m2")
    assert (await space.task("t1")).solo
    await space.check()


async def test_a_result_of_the_run_that_did_not_know_the_message_counts_no_more(space: Namespace) -> None:
    await space.register("a", "b")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.store.pause("t1", "wait")
    await space.crash("a")
    assert await space.state("t1") == "suspended"
    await space.message("t1", "m2")
    assert await space.settle("a", delivery, Settle.COMPLETED) == "LOST"
    [again] = await space.take("b")
    assert asked(again) == ["m-t1", "m2"]


async def test_a_message_that_overtakes_the_end_of_the_pause_joins_what_was_interrupted(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.store.pause("t1", "wait")
    assert await space.message("t1", "m2") is Accepted.PENDING
    await space.settle("a", delivery, Settle.SUSPENDED, checkpoint=b"half")
    [again] = await space.take("a")
    assert (asked(again), again.checkpoint) == (["m-t1", "m2"], b"half")
    await space.check()


async def test_a_resume_without_a_message_lets_those_that_wait_begin_turns_of_their_own(space: Namespace) -> None:
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.message("t1", "m2")
    await space.settle("a", delivery, Settle.SUSPENDED)
    await space.store.resume("t1", "go on")
    [again] = await space.take("a")
    assert (asked(again), again.turn) == (["m-t1"], 1)
    await space.check()


async def test_a_resume_without_a_message_lets_no_other_join(space: Namespace) -> None:
    """Its reason does not matter: that of a message names one that the task has been given."""
    await space.register("a")
    await space.submit("t1")
    [delivery] = await space.take("a")
    await space.message("t1", "m2")
    await space.store.pause("t1", "wait")
    await space.store.resume("t1", "message received")
    await space.settle("a", delivery, Settle.SUSPENDED)
    [again] = await space.take("a")
    assert (asked(again), again.turn) == (["m-t1"], 1)


async def test_a_retry_of_a_turn_that_has_several_messages_has_them_all(space: Namespace) -> None:
    await paused(space)
    await space.message("t1", "m2")
    [again] = await space.take("a")
    await space.settle("a", again, Settle.FAILED)
    assert (await space.store.retry("t1", "again")).task_id == "t1.r1"
    [retried] = await space.take("a")
    assert asked(retried) == ["m-t1", "m2"]
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
