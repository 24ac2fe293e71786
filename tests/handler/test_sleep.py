"""Sleeps as a handler meets them: the run ends, and a later one goes on behind the sleep."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from holdfast import Handlers, RunEnded, Task
from holdfast.core.outcomes import Asleep, Outcome
from holdfast.core.steps import SLEEP, StepRecord, StepVerdict
from holdfast.handler.handler import Handler
from tests.handler.deliveries import delivery_of, run_handler
from tests.handler.test_steps import Calls, KeptSteps, answer, failure

pytestmark = pytest.mark.anyio

HOUR_MS = 3_600_000


async def run_with(log: KeptSteps, handler: Handler | Callable[..., Any], timeout: float | None = None) -> Outcome:
    """The run of a handler in an asyncio task that its task knows, as a worker has it."""
    delivery = delivery_of()
    task = Task(delivery, 1 << 10)
    task.step_log = log.of
    task.runner = asyncio.current_task()
    return await run_handler(handler, delivery, task=task, timeout=timeout)


async def test_a_sleep_ends_the_run_and_the_next_one_goes_on_behind_it() -> None:
    log, calls = KeptSteps(), Calls()

    async def handle(task: Task) -> object:
        first = await task.step("before", calls.plain, 1)
        await task.sleep(hours=6)
        second = await task.step("between", calls.plain, 2)
        await task.sleep(timedelta(minutes=1), days=1)
        return [first, second]

    assert await run_with(log, handle) == Asleep(6 * HOUR_MS)
    log.now_ms = HOUR_MS  # too early, as after a resume: it sleeps on until the same time
    assert await run_with(log, handle) == Asleep(6 * HOUR_MS)
    log.now_ms = 6 * HOUR_MS
    assert await run_with(log, handle) == Asleep(30 * HOUR_MS + 60_000)
    log.now_ms = 31 * HOUR_MS
    assert answer(await run_with(log, handle)) == [1, 2]
    assert calls.made == [1, 2]


async def test_a_plain_function_sleeps_with_sleep_sync() -> None:
    log = KeptSteps()

    def handle(task: Task) -> object:
        try:
            task.sleep_sync(minutes=2)
        except Exception:
            return "swallowed"
        return [task.step_sync("after", lambda: 7)]

    assert await run_with(log, handle) == Asleep(120_000)
    log.now_ms = 120_000
    assert answer(await run_with(log, handle)) == [7]


async def test_what_the_handler_has_opened_is_closed() -> None:
    log, closed = KeptSteps(), list[str]()

    @asynccontextmanager
    async def connection() -> AsyncIterator[None]:
        try:
            yield
        finally:
            closed.append("connection")

    async def handle(task: Task) -> object:
        async with connection():
            try:
                await task.sleep(hours=1)
            except Exception:
                closed.append("caught")
            finally:
                closed.append("finally")

    assert await run_with(log, handle, timeout=60) == Asleep(HOUR_MS)
    assert closed == ["finally", "connection"]


async def test_a_short_sleep_is_waited_for() -> None:
    log = KeptSteps()

    async def handle(task: Task) -> object:
        await task.sleep(0.001)
        await task.sleep()
        return [1]

    assert answer(await run_with(log, handle)) == [1]
    assert [log.steps[place].name for place in range(2)] == [SLEEP, SLEEP]


async def test_a_sleep_that_is_over_is_not_asked_for_again() -> None:
    """A later step proves that its time has passed; one that was recorded before its end, beside it, does not."""
    log = KeptSteps({0: StepRecord(0, SLEEP, 1, 0, b"5000"), 1: StepRecord(1, "beside", 1, 4999, b"1")})

    async def handle(task: Task) -> object:
        await task.sleep(hours=1)
        return [await task.step("beside", lambda: 2)]

    assert await run_with(log, handle) == Asleep(5000)
    log.steps[1] = replace(log.steps[1], at_ms=5000)
    assert answer(await run_with(log, handle)) == [1]


@pytest.mark.parametrize("recorded", ["fetch", SLEEP])
async def test_another_step_than_a_recorded_sleep_is_an_error(recorded: str) -> None:
    log, calls = KeptSteps({0: StepRecord(0, recorded, 1, 0, b"1")}), Calls()

    async def handle(task: Task) -> object:
        if recorded == SLEEP:
            return await task.step("fetch", calls.plain, 1)
        return await task.sleep(hours=1)

    told = failure(await run_with(log, handle))
    assert "StepMismatchError" in told
    assert "a sleep" in told
    assert "step 'fetch'" in told
    assert calls.made == []


@pytest.mark.parametrize(("verdict", "wanted"), [(StepVerdict.LOST, "has lost the task"), (StepVerdict.FULL, "16 MiB")])
async def test_a_refusal_of_the_store_is_named(verdict: StepVerdict, wanted: str) -> None:
    async def handle(task: Task) -> object:
        await task.sleep(hours=1)

    assert wanted in failure(await run_with(KeptSteps(verdict=verdict), handle))


@pytest.mark.parametrize(
    "given",
    [{"hours": -1}, {"days": 367}, {"seconds": float("nan")}, {"seconds": "6h"}, {"minutes": None}, {"days": 10**400}],
)
async def test_a_length_that_is_not_allowed_is_named(given: Any) -> None:
    log = KeptSteps()

    async def handle(task: Task) -> object:
        await task.sleep(**given)

    told = failure(await run_with(log, handle))
    assert "StepError: task.sleep takes numbers that add up to 0 s to 366 days" in told
    assert log.steps == {}


async def in_gather(task: Task) -> None:
    await asyncio.gather(task.sleep(hours=1), anyio.lowlevel.checkpoint())


async def in_group(task: Task) -> None:
    async with anyio.create_task_group() as group:
        group.start_soon(task.sleep, 60)


async def in_a_thread_of_its_own(task: Task) -> None:
    await asyncio.to_thread(task.sleep_sync, 60)


async def in_a_step(task: Task) -> None:
    await task.step("outer", task.sleep, 60)


@pytest.mark.parametrize(
    ("handle", "wanted"),
    [
        (in_gather, "in another asyncio task"),
        (in_group, "ExceptionGroup"),
        (in_a_thread_of_its_own, "task.sleep_sync works only in the thread of a handler"),
        (in_a_step, "a sleep begins inside of step 'outer'"),
    ],
)
async def test_a_sleep_beside_the_handler_is_named(handle: Callable[[Task], Any], wanted: str) -> None:
    log = KeptSteps()
    assert wanted in failure(await run_with(log, handle))
    assert log.steps == {}


async def test_a_sleep_in_the_body_of_a_task_group_ends_what_runs_beside_it() -> None:
    log, ended = KeptSteps(), list[str]()

    async def beside() -> None:
        try:
            await anyio.sleep_forever()
        finally:
            ended.append("beside")

    async def handle(task: Task) -> object:
        async with anyio.create_task_group() as group:
            group.start_soon(beside)
            await anyio.lowlevel.checkpoint()
            await task.sleep(hours=1)

    assert await run_with(log, handle) == Asleep(HOUR_MS)
    assert ended == ["beside"]


async def test_an_error_beside_a_sleep_counts() -> None:
    async def handle(task: Task) -> object:
        raise BaseExceptionGroup("both", [ValueError("why"), RunEnded()])

    async def after_a_sleep(task: Task) -> object:
        try:
            await task.sleep(hours=1)
        except RunEnded as ended:
            raise BaseExceptionGroup("both", [ValueError("why"), ended]) from None

    for function in (handle, after_a_sleep):
        assert "ExceptionGroup" in failure(await run_with(KeptSteps(), function))


@pytest.mark.parametrize("timeout", [None, 60])
async def test_a_handler_that_catches_the_end_of_its_run_has_failed_for_good(timeout: float | None) -> None:
    log, calls = KeptSteps(), Calls()

    async def returns(task: Task) -> object:
        try:
            await task.sleep(hours=1)
        finally:
            return "done"  # noqa: B012 - the mistake

    async def goes_on(task: Task) -> object:
        try:
            await task.sleep(hours=1)
        except BaseException:
            calls.plain("beside")
        return await task.step("after", calls.plain, "after")

    outcome = await run_with(log, returns, timeout)
    assert "RunEndedError: the handler has caught the RunEnded" in failure(outcome)
    assert getattr(outcome, "final", False)
    assert await run_with(log, goes_on, timeout) == Asleep(HOUR_MS)  # the next step ends the run again
    assert calls.made == ["beside"]


@pytest.mark.parametrize("is_plain", [False, True])
async def test_middleware_lets_a_sleep_pass(is_plain: bool) -> None:
    log, seen, handlers = KeptSteps(), list[str](), Handlers()

    async def on_loop(task: Task, call: Callable[[], Any]) -> Any:
        try:
            return await call()
        finally:
            seen.append("closed")

    def in_thread(task: Task, call: Callable[[], Any]) -> Any:
        try:
            return call()
        finally:
            seen.append("closed")

    async def handle(task: Task) -> object:
        await task.sleep(hours=1)

    handlers.use(in_thread if is_plain else on_loop)
    handlers.default(handle)
    assert await run_with(log, handlers.frozen("app:handlers")) == Asleep(HOUR_MS)
    assert seen == ["closed"]
