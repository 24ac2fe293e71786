"""A worker and a handler that asks: the handler goes on with what it had when it asked."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast import Handlers, Task, create_broker, read_result
from holdfast.core.tasks import TaskRecord
from holdfast.why.gather import explain, gather
from holdfast_config import Settings
from tests.worker.processes import PATIENCE

pytestmark = pytest.mark.anyio


async def ended(broker: Any, task_id: str) -> TaskRecord:
    record: TaskRecord = await broker.manager.wait(task_id, timeout=PATIENCE)
    return record


def value(record: TaskRecord) -> object:
    return read_result(record.result).value


async def test_a_named_handler_goes_on_with_its_arguments() -> None:
    handlers, calls = Handlers(), list[str]()

    def draft(topic: str) -> str:
        calls.append(topic)
        return f"draft on {topic}"

    @handlers.register("write")
    async def write(task: Task, topic: str) -> str:
        text = await task.step("draft", draft, topic)
        style = await task.question(f"In which style is the {text}?")
        length = await task.question("How long?")
        return f"{text}, {style}, {length}, of {topic}, turn {task.turn}"

    async with create_broker(type="memory") as broker, broker.working(handlers):
        task_id = await broker.manager.run_task(name="write", kwargs={"topic": "otters"})
        first = await ended(broker, task_id)
        assert (first.state, value(first)) == ("input-required", "In which style is the draft on otters?")
        await broker.manager.run_task("dry", task_id=task_id)
        second = await ended(broker, task_id)
        assert (second.state, value(second)) == ("input-required", "How long?")
        await broker.manager.resume_task(task_id, "a page")
        last = await ended(broker, task_id)
        assert (last.state, value(last)) == ("completed", "draft on otters, dry, a page, of otters, turn 3")
        assert (calls, last.attempts, last.crashes) == (["otters"], 0, 0)


async def test_the_history_has_the_question_before_its_turn_ends_and_the_limit_of_the_handler() -> None:
    handlers = Handlers()

    @handlers.register("flaky", max_attempts=7)
    async def flaky(task: Task) -> None:
        await task.step("look", lambda: 1)
        if await task.question("Go on?") == "yes":
            raise ValueError

    async with create_broker(type="memory") as broker, broker.working(handlers):
        task_id = await broker.manager.run_task(name="flaky")
        await ended(broker, task_id)
        first = await explain(broker.store, "q", task_id, None)
        lines = [line["text"].split(" (")[0] for line in first["timeline"] if line["event"] in {"step", "settled"}]
        assert lines == ["step 1 is recorded: look", "step 2 is question 'Go on?'", "turn 1 asks for input"]
        await broker.manager.cancel_task(task_id)
        await broker.manager.retry_task(task_id)
        again = await explain(broker.store, "q", f"{task_id}.r1", None)
        assert again["timeline"][0]["event"] == "accepted"
        assert f"step 1 is recorded: look (kept from {task_id})" in [line["text"] for line in again["timeline"]]
        snapshot, _ = await gather(broker.store, "q", task_id, Settings())
        assert snapshot.max_attempts == 7


async def test_messages_are_those_of_the_turn_that_asked_and_a_new_turn_has_them_all() -> None:
    """The first turn ends without a question, the second asks."""
    seen: list[list[str]] = []

    async def handle(messages: list[dict[str, Any]], task: Task) -> object:
        seen.append([message["content"] for message in messages])
        if task.turn == 1:
            return {"state": "input-required", "prompt": "go on?"}
        return [await task.question("which?"), task.turn]

    async with create_broker(type="memory") as broker, broker.working(handle):
        task_id = await broker.manager.run_task("one")
        for text in ("two", "three"):
            await ended(broker, task_id)
            await broker.manager.run_task(text, task_id=task_id)
        assert value(await ended(broker, task_id)) == ["three", 3]
    assert seen == [["one"], ["one", "go on?", "two"], ["one", "go on?", "two"]]


async def test_a_resume_without_a_message_answers_with_none() -> None:
    async def handle(task: Task) -> object:
        return [await task.question("which?"), task.turn]

    async with create_broker(type="memory") as broker, broker.working(handle):
        task_id = await broker.manager.run_task("one")
        await ended(broker, task_id)
        await broker.manager.resume_task(task_id)
        assert value(await ended(broker, task_id)) == [None, 2]


async def test_a_message_that_came_before_the_question_is_its_answer() -> None:
    """As it is for a handler that returns `input-required`: nobody can tell which message was written for what."""

    async def handle(task: Task) -> object:
        await broker.manager.run_task("early", task_id=task.id) if task.turn == 1 else None
        return [await task.question("which?")]

    async with create_broker(type="memory") as broker, broker.working(handle):
        task_id = await broker.manager.run_task("one")
        assert value(await ended(broker, task_id)) == ["early"]


async def test_a_row_of_questions_is_read_from_a_history_of_several_answers() -> None:
    """Each answer is large, so that one look at the history does not have the turn that asked first."""
    large = "x" * 399_999

    async def handle(messages: list[dict[str, Any]], task: Task) -> object:
        sizes = [len(await task.question(f"part {n}?")) for n in range(4)]
        return [messages[-1]["content"], *sizes]

    async with create_broker(type="memory") as broker, broker.working(handle):
        task_id = await broker.manager.run_task("one")
        for n in range(4):
            assert (await ended(broker, task_id)).state == "input-required"
            await broker.manager.run_task(f"{n}{large}", task_id=task_id)
        assert value(await ended(broker, task_id)) == ["one", *[400_000] * 4]
