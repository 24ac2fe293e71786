"""Steps as a handler meets them: recorded results, other steps than recorded, and what cannot be recorded."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import anyio
import msgspec
import pytest

from holdfast.core.delivery import Delivery
from holdfast.core.outcomes import Completed, Outcome, Raised
from holdfast.core.steps import MOST_STEPS, SleepKept, StepKept, StepRecord, StepVerdict, note_of, read_step
from holdfast.handler import task_steps
from holdfast.handler.task import Task
from tests.handler.deliveries import delivery_of, document, run_handler

pytestmark = pytest.mark.anyio

LONG = 8.0  # seconds, to which no test comes unless it fails


@dataclass
class KeptSteps:
    """A log in memory; `verdict`: its answer to each step; `now_ms`: its clock; `turn`: the one that runs."""

    steps: dict[int, StepRecord] = field(default_factory=dict[int, StepRecord])
    verdict: StepVerdict = StepVerdict.OK
    looks: int = 0
    now_ms: int = 0
    turn: int = 1
    given_up: threading.Event = field(default_factory=threading.Event)

    def of(self, _: Delivery) -> KeptSteps:
        return self

    async def recorded(self) -> dict[int, StepRecord]:
        self.looks += 1
        await anyio.lowlevel.checkpoint()
        return dict(self.steps)

    async def keep(self, place: int, name: str, result: bytes) -> StepKept:
        await anyio.lowlevel.cancel_shielded_checkpoint()
        if self.verdict is StepVerdict.OK:
            self.steps[place] = read_step(place, f"{self.turn} {self.now_ms} {name}\n".encode() + result)
        return StepKept(self.verdict, name)

    async def sleep(self, place: int, name: str, milliseconds: int) -> SleepKept:
        await anyio.lowlevel.checkpoint()
        text = f"{self.now_ms + milliseconds}".encode()
        step = self.steps.setdefault(place, StepRecord(place, name, 1, self.now_ms, text))
        due_ms = int(step.result)
        return SleepKept(self.verdict, name, due_ms, max(0, due_ms - self.now_ms))

    def stuck(self) -> None:
        self.given_up.set()


async def run_with(log: KeptSteps, handler: Callable[..., Any], timeout: float | None = None) -> Outcome:
    delivery = delivery_of()
    task = Task(delivery, 1 << 10)
    task.step_log = log.of
    return await run_handler(handler, delivery, task=task, timeout=timeout)


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

    assert "'inner' begins inside of step 'outer'" in failure(await run_with(KeptSteps(), nested))
    assert f"at most {MOST_STEPS}" in failure(await run_with(KeptSteps(), many))


async def test_a_coroutine_is_no_function_for_a_sync_handler() -> None:
    def handle(task: Task) -> object:
        return task.step_sync("fetch", Calls().awaited, 1)

    assert "plain functions only: make the handler async" in failure(await run_with(KeptSteps(), handle))


def end_the_time(task: Task, loop: asyncio.AbstractEventLoop) -> None:
    """In a thread: the task is out of time from now on."""
    assert isinstance(task.limit, anyio.CancelScope)
    loop.call_soon_threadsafe(task.limit.cancel)


async def test_the_thread_of_a_step_sees_the_timeout_and_what_it_returns_is_recorded() -> None:
    log, loop = KeptSteps(), asyncio.get_running_loop()

    async def handle(task: Task) -> object:
        def until_told() -> str:
            end_the_time(task, loop)
            until = time.monotonic() + LONG
            while not task.cancelled and time.monotonic() < until:
                pass
            return "told" if task.cancelled else "not told"

        return await task.step("wait", until_told)

    assert "TaskTimeout" in failure(await run_with(log, handle, timeout=60))
    assert [step.result for step in log.steps.values()] == [b'"told"']


async def test_a_thread_of_a_step_that_does_not_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_steps, "GRACE", 0.0)
    log, loop = KeptSteps(), asyncio.get_running_loop()

    async def handle(task: Task) -> object:
        def until_given_up() -> bool:
            end_the_time(task, loop)
            return log.given_up.wait(LONG)

        return await task.step("wait", until_given_up)

    assert "TaskTimeout" in failure(await run_with(log, handle, timeout=60))
    assert [step.result for step in log.steps.values()] == [b"true"]


async def test_a_limit_of_the_handlers_own_gives_up_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(task_steps, "GRACE", 0.0)
    log, loop = KeptSteps(), asyncio.get_running_loop()

    async def handle(task: Task) -> object:
        def until_all_have_looked() -> int:
            loop.call_soon_threadsafe(scope.cancel)
            for _ in range(20):
                asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(LONG)
            return 1

        with anyio.CancelScope() as scope:
            await task.step("wait", until_all_have_looked)
        return [log.given_up.is_set(), task.cancelled]

    assert answer(await run_with(log, handle, timeout=60)) == [False, False]
    assert [step.result for step in log.steps.values()] == [b"1"]


@pytest.mark.parametrize("way", ["coroutine", "to_thread"])
async def test_step_sync_elsewhere_than_in_the_thread_of_a_handler_is_an_error(way: str) -> None:
    async def handle(task: Task) -> object:
        if way == "coroutine":
            return task.step_sync("fetch", lambda: 1)
        return await asyncio.to_thread(task.step_sync, "fetch", lambda: 1)

    assert "StepError: step 'fetch': task.step_sync works only in the thread of a handler" in failure(
        await run_with(KeptSteps(), handle)
    )


async def test_a_handler_that_is_called_without_a_worker_records_nothing() -> None:
    calls = Calls()
    task = Task(delivery_of())
    assert [await task.step("fetch", calls.plain, 1), await task.step("fetch", calls.plain, 2)] == [1, 2]


async def test_a_step_is_recorded_with_its_arguments_in_brief_and_its_time() -> None:
    log = KeptSteps()

    def book(plan: str, guests: int, *extras: str, client: object = None, **more: object) -> msgspec.Raw:
        return msgspec.Raw(b'{\n "guests": 4\n}')

    async def handler(messages: list[Any], task: Task) -> object:
        booked = await task.step("book", book, "garden" * 20, 4, "wine", client=log, days=[1, 2])
        await task.step("builtin", max, 2, 3, key=None)
        return booked

    assert answer(await run_with(log, handler)) == {"guests": 4}
    assert answer(await run_with(log, handler)) == {"guests": 4}, "from its record, without the note"
    note = note_of(log.steps[0])
    assert note
    assert note.took_ms >= 0
    short = ("garden" * 10)[:59] + "…"
    assert note.arguments == {"plan": short, "guests": 4, "extras": "[1]", "client": "<KeptSteps>", "more": "{…}"}
    unnamed = note_of(log.steps[1])
    assert unnamed
    assert unnamed.arguments == {"1": 2, "2": 3, "key": None}


async def test_a_step_without_a_readable_note_has_none() -> None:
    assert note_of(read_step(0, b"1 5 first\n1")) is None
    assert note_of(read_step(0, b"1 5 first\n1\n#{")) is None
