"""Questions as a handler meets them: the turn ends, and a later one goes on with the answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from holdfast import Task
from holdfast.core.messages import Part, data_part, text_part
from holdfast.core.outcomes import InputAsked, Outcome
from holdfast.core.steps import ANSWER, StepRecord, question_name
from tests.handler.deliveries import delivery_of, document, run_handler
from tests.handler.test_steps import Calls, KeptSteps, answer, failure

pytestmark = pytest.mark.anyio

REGION = "Which region?"


async def run_turn(log: KeptSteps, handler: Callable[..., Any], turn: int, said: str | list[Part] = "x") -> Outcome:
    """The run of a handler in this turn, whose message says this."""
    delivery = delivery_of(said, turn=turn)
    log.turn = turn
    task = Task(delivery, 1 << 10)
    task.step_log = log.of
    task.runner = asyncio.current_task()
    return await run_handler(handler, delivery, task=task)


def asked(outcome: Outcome) -> tuple[str, str]:
    assert isinstance(outcome, InputAsked), outcome
    return outcome.state, document(outcome)["parts"][0]["text"]


async def order(task: Task) -> object:
    region = await task.question(REGION)
    budget = await task.question("Which budget?", state="auth-required")
    return [region, budget]


async def test_a_question_ends_the_turn_and_the_next_message_is_its_answer() -> None:
    log = KeptSteps()
    for _ in range(2):  # a worker died before it had told: the same turn asks again
        assert asked(await run_turn(log, order, 1)) == ("input-required", REGION)
    for _ in range(2):
        assert asked(await run_turn(log, order, 2, "eu")) == ("auth-required", "Which budget?")
    for said in ("no more", "something else"):  # each later run gets the answer that is recorded
        assert answer(await run_turn(log, order, 3, [data_part({"euros": 5})])) == ["eu", {"euros": 5}], said
    assert answer(await run_turn(log, order, 4, "what else?")) == ["eu", {"euros": 5}]


@pytest.mark.parametrize(
    ("said", "value"),
    [
        ("yes", "yes"),
        ([data_part([1, 2])], [1, 2]),
        ([text_part("a"), data_part(1)], ["a", 1]),
        ([], None),
    ],
)
async def test_an_answer_is_the_content_of_the_message(said: str | list[Part], value: object) -> None:
    async def handle(task: Task) -> object:
        return [await task.question(REGION)]

    log = KeptSteps()
    await run_turn(log, handle, 1)
    assert answer(await run_turn(log, handle, 2, said)) == [value]


async def test_a_plain_function_asks_with_question_sync() -> None:
    log = KeptSteps()

    def handle(task: Task) -> object:
        try:
            return [task.question_sync(REGION), task.step_sync("after", lambda: 7)]
        except Exception:
            return "swallowed"

    assert asked(await run_turn(log, handle, 1)) == ("input-required", REGION)
    assert answer(await run_turn(log, handle, 2, "eu")) == ["eu", 7]


@pytest.mark.parametrize("recorded", ["fetch", question_name("Which colour?")])
async def test_another_question_than_the_recorded_one_is_an_error(recorded: str) -> None:
    log = KeptSteps({0: StepRecord(0, recorded, 1, 0, b"1"), 1: StepRecord(1, ANSWER, 2, 0, b'"red"')})
    told = failure(await run_turn(log, order, 2, "eu"))
    assert "StepMismatchError" in told
    assert f"question '{REGION}'" in told
    assert ("question 'Which colour?'" if "colour" in recorded else "step 'fetch'") in told


async def test_a_step_in_the_place_of_an_answer_is_an_error() -> None:
    log = KeptSteps({0: StepRecord(0, question_name(REGION), 1, 0, b"1"), 1: StepRecord(1, "fetch", 1, 0, b"1")})
    assert "come to an answer" in failure(await run_turn(log, order, 2, "eu"))


@pytest.mark.parametrize(
    ("text", "more", "wanted"),
    [
        ("", {}, "task.question: text must be a string that is not empty, not ''"),
        (7, {}, "task.question: text must be a string that is not empty, not 7"),
        ("what?", {"state": "done"}, "state must be input-required or auth-required, not 'done'"),
        ("x" * 2000, {}, "at most 1024 are recorded"),
    ],
)
async def test_what_cannot_be_asked_is_named(text: Any, more: Any, wanted: str) -> None:
    async def handle(task: Task) -> object:
        return await task.question(text, **more)

    log = KeptSteps()
    assert wanted in failure(await run_turn(log, handle, 1))
    assert log.steps == {}


async def test_a_question_beside_the_handler_is_named() -> None:
    async def handle(task: Task) -> object:
        return await asyncio.gather(task.question("a"), task.question("b"))

    log = KeptSteps()
    assert "task.question was called in another asyncio task" in failure(await run_turn(log, handle, 1))
    assert log.steps == {}


async def test_a_handler_that_catches_its_question_has_failed_for_good() -> None:
    async def handle(task: Task) -> object:
        try:
            return await task.question(REGION)
        except BaseException:
            return "no answer"

    outcome = await run_turn(KeptSteps(), handle, 1)
    assert "RunEndedError" in failure(outcome)
    assert getattr(outcome, "final", False)


async def test_a_question_keeps_what_it_asked() -> None:
    log, calls = KeptSteps(), Calls()

    async def handle(task: Task) -> object:
        await task.step("before", calls.plain, 1)
        return await task.question("two\nlines")

    await run_turn(log, handle, 1)
    assert log.steps[1].name == question_name("two lines")
    assert json.loads(log.steps[1].result) == {"state": "input-required", "question": "two\nlines"}
