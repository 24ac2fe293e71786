"""Steps as a handler meets them: recorded results, other steps than recorded, and what cannot be recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import pytest

from holdfast.core.delivery import Delivery
from holdfast.core.outcomes import Completed, Outcome, Raised
from holdfast.core.steps import MOST_STEPS, StepKept, StepRecord, StepVerdict
from holdfast.handler.task import Task
from tests.worker.handlers import delivery_of, document, run_handler

pytestmark = pytest.mark.anyio


@dataclass
class KeptSteps:
    """A log in memory; `verdict`: its answer to each step."""

    steps: dict[int, StepRecord] = field(default_factory=dict[int, StepRecord])
    verdict: StepVerdict = StepVerdict.OK
    looks: int = 0

    def of(self, _: Delivery) -> KeptSteps:
        return self

    async def recorded(self) -> dict[int, StepRecord]:
        self.looks += 1
        await anyio.lowlevel.checkpoint()
        return dict(self.steps)

    async def keep(self, place: int, name: str, result: bytes) -> StepKept:
        await anyio.lowlevel.checkpoint()
        if self.verdict is StepVerdict.OK:
            self.steps[place] = StepRecord(place, name, 1, 0, result)
        return StepKept(self.verdict, name)


async def run_with(log: KeptSteps, handler: Callable[..., Any]) -> Outcome:
    delivery = delivery_of()
    task = Task(delivery, 1 << 10)
    task.step_log = log.of
    return await run_handler(handler, delivery, task=task)


def answer(outcome: Outcome) -> Any:
    assert isinstance(outcome, Completed), outcome
    return document(outcome)["parts"][0]["data"]


def failure(outcome: Outcome) -> str:
    assert isinstance(outcome, Raised), outcome
    return f"{outcome.failure.type}: {outcome.failure.message}"


class Calls:
    """Counts."""

    def __init__(self) -> None:
        self.made: list[object] = []

    def plain(self, value: object) -> object:
        self.made.append(value)
        return value

    async def awaited(self, value: object) -> object:
        await anyio.lowlevel.checkpoint()
        return self.plain(value)


@pytest.mark.parametrize("way", ["async", "plain", "sync"])
async def test_a_recorded_result_is_returned_without_a_call(way: str) -> None:
    log, calls = KeptSteps(), Calls()

    async def handle(task: Task) -> object:
        function = calls.awaited if way == "async" else calls.plain
        return [await task.step(f"step {n}", function, {"n": (n, None)}) for n in range(2)]

    def handle_in_thread(task: Task) -> object:
        return [task.step_sync(f"step {n}", calls.plain, {"n": (n, None)}) for n in range(2)]

    for _ in range(2):
        outcome = await run_with(log, handle_in_thread if way == "sync" else handle)
        assert answer(outcome) == [{"n": [0, None]}, {"n": [1, None]}]  # as JSON has it, in the first run, too
    assert len(calls.made) == 2
    assert log.looks == 2


async def test_what_a_step_raises_is_not_recorded() -> None:
    log = KeptSteps()

    async def handle(task: Task) -> object:
        return await task.step("divide", lambda: 1 // len(log.steps))

    assert "ZeroDivisionError" in failure(await run_with(log, handle))
    assert log.steps == {}


async def test_steps_begun_together_keep_their_places() -> None:
    log, calls = KeptSteps(), Calls()

    async def handle(task: Task) -> object:
        return await asyncio.gather(*(task.step(f"step {n}", calls.awaited, n) for n in range(5)))

    assert answer(await run_with(log, handle)) == [0, 1, 2, 3, 4]
    del log.steps[1]
    assert answer(await run_with(log, handle)) == [0, 1, 2, 3, 4]
    assert calls.made[5:] == [1]


async def test_another_step_than_the_recorded_one_is_an_error_and_is_not_called() -> None:
    log, calls = KeptSteps({0: StepRecord(0, "fetch", 1, 0, b"1")}), Calls()

    async def handle(task: Task) -> object:
        return await task.step("think", calls.plain, 1)

    told = failure(await run_with(log, handle))
    assert "StepMismatchError" in told
    assert "'fetch'" in told
    assert "'think'" in told
    assert calls.made == []


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("", 1, "the name of a step"),
        ("two\nlines", 1, "the name of a step"),
        (7, 1, "not int"),
        ("x" * 201, 1, "200 bytes"),
        ("what", object(), "JSON has no object"),
        ("what", float("nan"), "NaN"),
        ("what", "x" * 2000, "at most 1024 are recorded"),
    ],
)
async def test_what_cannot_be_recorded_is_named(name: Any, value: object, wanted: str) -> None:
    log = KeptSteps()

    async def handle(task: Task) -> object:
        return await task.step(name, lambda: value)

    told = failure(await run_with(log, handle))
    assert "StepError" in told
    assert wanted in told
    assert log.steps == {}


@pytest.mark.parametrize(
    ("verdict", "wanted"),
    [(StepVerdict.LOST, "has lost the task"), (StepVerdict.FULL, "16 MiB"), (StepVerdict.OTHER, "recorded as")],
)
async def test_a_refusal_of_the_store_is_named(verdict: StepVerdict, wanted: str) -> None:
    async def handle(task: Task) -> object:
        return await task.step("fetch", lambda: 1)

    assert wanted in failure(await run_with(KeptSteps(verdict=verdict), handle))


async def test_a_step_has_no_steps_of_its_own_and_a_task_so_many() -> None:
    async def nested(task: Task) -> object:
        async def inner() -> object:
            return await task.step("inner", lambda: 1)

        return await task.step("outer", inner)

    async def many(task: Task) -> object:
        return [await task.step("one more", Calls().awaited, n) for n in range(MOST_STEPS + 1)]

    assert "'inner' is begun inside of step 'outer'" in failure(await run_with(KeptSteps(), nested))
    assert f"at most {MOST_STEPS}" in failure(await run_with(KeptSteps(), many))


async def test_a_coroutine_is_no_function_for_a_sync_handler() -> None:
    def handle(task: Task) -> object:
        return task.step_sync("fetch", Calls().awaited, 1)

    assert "plain functions only: make the handler async" in failure(await run_with(KeptSteps(), handle))


async def test_a_handler_that_is_called_without_a_worker_records_nothing() -> None:
    calls = Calls()
    task = Task(delivery_of())
    assert [await task.step("fetch", calls.plain, 1), await task.step("fetch", calls.plain, 2)] == [1, 2]
