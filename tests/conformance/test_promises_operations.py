"""Promises about operations: run, cancel, pause, resume, whichever way they come; turns, messages, checkpoints."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.client.manager import TaskManager
from holdfast.core.outcomes import read_result
from holdfast.core.task_states import State
from holdfast.errors import UnknownTaskError
from holdfast.handler.task import Task
from tests.conformance.shop import Shop
from tests.conformance.stand import Stand
from tests.conformance.ways import WAYS, Asking

pytestmark = pytest.mark.anyio
Messages = list[dict[str, Any]]
QUESTIONS = ("input-required", "auth-required")


async def answer(messages: Messages) -> str:
    return " + ".join(message["content"] for message in messages)


async def inquire(messages: Messages) -> object:
    """Asks what its first message says to ask for, until it has been told."""
    texts = [message["content"] for message in messages if message["role"] == "user"]
    if len(texts) == 1:
        return {"state": texts[0], "prompt": "which one?"}
    return [message["content"] for message in messages]


@pytest.fixture
def shop(stand: Stand) -> Shop:
    return Shop(stand, answer)


@pytest.fixture(params=WAYS)
async def asking(request: pytest.FixtureRequest, stand: Stand, shop: Shop) -> Asking:
    """Orders that are pushed are read by a pull that takes a task, too, where one waits: tests look at states."""
    await stand.register("clerk")
    return Asking(request.param, stand, shop)


async def result_of(stand: Stand, task_id: str) -> object:
    return read_result((await stand.task(task_id)).result).value


async def test_run_comes_to_its_result(asking: Asking, shop: Shop, stand: Stand) -> None:
    await asking.run("t1", "hello")
    await asking.run("t1", "hello")
    assert await shop.work() == 1
    assert (await stand.state("t1"), await result_of(stand, "t1")) == (State.COMPLETED, "hello")


async def test_cancel_ends_a_waiting_task(asking: Asking, shop: Shop, stand: Stand) -> None:
    await asking.manager.run_task("hello", task_id="t1", delay=60)
    await asking.order("cancel", "t1")
    await stand.advance(61_000)
    assert await shop.work() == 0
    assert await stand.state("t1") == State.CANCELED


async def test_cancel_ends_a_working_task_and_its_result_does_not_count(
    asking: Asking, shop: Shop, stand: Stand
) -> None:
    await asking.run("t1", "hello")
    [delivery] = await shop.take()
    await asking.order("cancel", "t1")
    hint = await stand.store.listen("shop", [], 5.0)
    assert hint is not None
    assert (hint.kind, hint.task_id, hint.claim) == ("cancel", "t1", delivery.claim)
    assert await shop.finish(delivery) == "LOST"
    assert (await stand.state("t1"), await result_of(stand, "t1")) == (State.CANCELED, None)


async def test_cancel_of_a_task_that_comes_later_is_remembered(asking: Asking, shop: Shop, stand: Stand) -> None:
    await asking.order("cancel", "t1")
    await asking.run("t1", "hello")
    assert await shop.work() == 0
    assert await stand.state("t1") == State.CANCELED
    assert await stand.reasons() == []


async def test_pause_parks_and_resume_goes_on(asking: Asking, shop: Shop, stand: Stand) -> None:
    await asking.manager.run_task("hello", task_id="t1", delay=60)
    await asking.order("pause", "t1")
    await stand.advance(61_000)
    assert await shop.work() == 0
    assert await stand.state("t1") == State.SUSPENDED
    await asking.manager.resume_task("t1")
    assert await shop.work() == 1
    assert await result_of(stand, "t1") == "hello"


async def test_a_working_task_is_asked_to_pause_and_goes_on_from_its_checkpoint(
    asking: Asking, shop: Shop, stand: Stand
) -> None:
    await asking.run("t1", "hello")
    [delivery] = await shop.take()
    await asking.order("pause", "t1")
    hint = await stand.store.listen("shop", [], 5.0)
    assert hint is not None
    assert (hint.kind, hint.claim) == ("pause", delivery.claim)
    task = Task(delivery)
    task.checkpoint({"step": 3})
    assert await shop.finish(delivery, "pause", task) == "OK"
    assert await stand.state("t1") == State.SUSPENDED
    await stand.store.recover("clerk", "over", False)  # whatever is resumed now is for the shop
    await asking.manager.resume_task("t1")
    [again] = await shop.take()
    assert (Task(again).last_checkpoint, again.turn, again.delivery) == ({"step": 3}, 1, 2)


@pytest.mark.parametrize("state", QUESTIONS)
async def test_a_resume_that_carries_a_message_answers(stand: Stand, asking: Asking, state: str) -> None:
    shop = Shop(stand, inquire)
    await asking.run("t1", state)
    await shop.work()
    assert (await stand.state("t1"), await result_of(stand, "t1")) == (state, "which one?")
    await stand.store.recover("clerk", "over", False)
    await stand.register("clerk2")
    if asking.way == "API":
        await asking.order("resume", "t1", "this one")
    else:
        await stand.push(asking.envelope("resume", "t1", "this one"))
    assert await shop.work() == 1
    assert await result_of(stand, "t1") == [state, "which one?", "this one"]
    assert (await stand.task("t1")).turn == 2


async def test_a_resume_makes_no_task(asking: Asking, stand: Stand) -> None:
    await asking.order("resume", "t1", "an answer to nobody")
    assert await stand.store.get("t1") is None
    assert await stand.reasons() == ([] if asking.way == "API" else ["resume of an unknown task"])


@pytest.mark.parametrize("state", QUESTIONS)
async def test_a_task_that_asks_has_as_many_turns_as_it_needs(stand: Stand, state: str) -> None:
    async def until_three(messages: Messages) -> object:
        if len(messages) < 5:
            return {"state": state, "prompt": f"and after {messages[-1]['content']}?"}
        return [message["content"] for message in messages]

    shop, manager = Shop(stand, until_three), TaskManager(stand.store, queue=stand.queue)
    for turn, word in enumerate(("one", "two", "three"), 1):
        await manager.run_task(word, task_id="t1")
        assert await shop.work() == 1
        record = await stand.task("t1")
        assert (record.turn, record.state) == (turn, state if turn < 3 else State.COMPLETED)
    assert await result_of(stand, "t1") == ["one", "and after one?", "two", "and after two?", "three"]


async def test_a_message_for_a_working_task_waits_its_turn(asking: Asking, shop: Shop, stand: Stand) -> None:
    await asking.manager.run_task("first", task_id="t1")
    [delivery] = await shop.take()
    await asking.run("t1", "second")
    await stand.pull("clerk", 1)
    assert ((await stand.task("t1")).pending, await stand.state("t1")) == (1, State.WORKING)
    await stand.store.recover("clerk", "over", False)
    assert await shop.finish(delivery) == "OK"
    assert await shop.work() == 1
    record = await stand.task("t1")
    assert (record.turn, record.state) == (2, State.COMPLETED)
    assert await result_of(stand, "t1") == "first + first + second"


async def test_a_message_for_a_suspended_task_joins_its_turn(shop: Shop, stand: Stand) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)
    await manager.run_task("first", task_id="t1")
    await manager.pause_task("t1")
    assert await manager.resume_task("t1", "second") == State.SUBMITTED
    assert await shop.work() == 1
    assert await result_of(stand, "t1") == "first + second"


@pytest.mark.parametrize("way", ["drain", "on demand"])
async def test_a_checkpoint_is_handed_to_the_next_delivery(shop: Shop, stand: Stand, way: str) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)
    await manager.run_task("hello", task_id="t1")
    [delivery] = await shop.take()
    task = Task(delivery)
    task.checkpoint([1, 2])
    if way == "drain":
        assert await shop.finish(delivery, "drain", task) == "OK"
        [again] = await shop.take()
    else:
        await shop.renew(delivery, task)
        await stand.crash("shop")
        await stand.register("next")
        [again] = await stand.take("next")
    assert Task(again).last_checkpoint == [1, 2]


async def test_orders_for_nobody_are_errors_and_make_nothing(stand: Stand) -> None:
    manager = TaskManager(stand.store, queue=stand.queue)
    for order in (manager.cancel_task, manager.pause_task, manager.resume_task):
        with pytest.raises(UnknownTaskError, match="no task nobody"):
            await order("nobody")
    assert await manager.count_tasks() == 0
