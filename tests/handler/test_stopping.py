"""Handlers that are timed out or cancelled, and threads that do not heed it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import anyio
import pytest

from holdfast.core.outcomes import Completed, Outcome, Raised
from holdfast.handler.task import Task
from tests.handler.deliveries import delivery_of, run_handler
from tests.worker.telling import cancel_own_task

pytestmark = pytest.mark.anyio

SHORT = 0.01  # seconds: over before anything here is
PATIENCE = 10.0  # seconds: after which a test fails that would otherwise hang


def assert_timed_out(outcome: Outcome, seconds: float = SHORT) -> None:
    assert isinstance(outcome, Raised)
    assert (outcome.failure.type, outcome.final) == ("TaskTimeout", False)
    assert outcome.failure.message == f"the handler took longer than {seconds:g} s"


def wait_until_cancelled(task: Task) -> None:
    given_up = time.monotonic() + PATIENCE
    while not task.cancelled:
        assert time.monotonic() < given_up, "nobody told the thread to stop"
        time.sleep(0.001)


async def sleeps(task: Task) -> None:
    await anyio.sleep_forever()


async def sleeps_between_values(task: Task) -> AsyncIterator[str]:
    yield "begun"
    await anyio.sleep_forever()


async def answers_when_interrupted(task: Task) -> str | None:
    try:
        await anyio.sleep_forever()
    except asyncio.CancelledError:
        return "too late"
    return None


async def fails_when_interrupted(task: Task) -> None:
    try:
        await anyio.sleep_forever()
    finally:
        raise ValueError("while cleaning up")


def heeds(task: Task) -> str:
    wait_until_cancelled(task)
    return "too late"


def heeds_and_raises(task: Task) -> None:
    wait_until_cancelled(task)
    raise RuntimeError("stopped")


def yields_on(task: Task) -> Iterator[str]:
    given_up = time.monotonic() + PATIENCE
    while time.monotonic() < given_up:
        yield "still here"
    raise AssertionError("nobody stopped the generator")


@pytest.mark.parametrize(
    "handler",
    [
        sleeps,
        sleeps_between_values,
        answers_when_interrupted,
        fails_when_interrupted,
        heeds,
        heeds_and_raises,
        yields_on,
    ],
)
async def test_a_handler_that_takes_too_long_is_timed_out(handler: Callable[..., Any]) -> None:
    assert_timed_out(await run_handler(handler, timeout=SHORT))


async def test_the_timeout_of_the_delivery_counts_before_the_default() -> None:
    assert_timed_out(await run_handler(sleeps, delivery_of(timeout_ms=20), timeout=60.0), 0.02)


async def test_a_handler_in_time_knows_its_deadline() -> None:
    async def handler(task: Task) -> str:
        assert task.deadline is not None
        return "later" if 50 < task.deadline - time.monotonic() <= 60 else "wrong"

    outcome = await run_handler(handler, timeout=60.0)
    assert isinstance(outcome, Completed)
    assert b"later" in outcome.result


async def test_without_a_timeout_there_is_no_deadline() -> None:
    async def handler(task: Task) -> None:
        assert task.deadline is None

    assert isinstance(await run_handler(handler), Completed)


@pytest.mark.parametrize("handler", [sleeps, sleeps_between_values, heeds, heeds_and_raises, yields_on])
async def test_cancelled_from_outside_nothing_comes_of_it(handler: Callable[..., Any]) -> None:
    delivery = delivery_of()
    task = Task(delivery)
    outcomes: list[Outcome] = []
    with anyio.CancelScope() as scope:
        scope.cancel()
        outcomes.append(await run_handler(handler, delivery, task=task))
    assert scope.cancelled_caught
    assert not outcomes


async def test_a_handler_cancelled_in_the_middle_may_save_a_checkpoint() -> None:
    delivery = delivery_of()
    task = Task(delivery)
    begun = anyio.Event()

    async def handler(task: Task) -> None:
        try:
            begun.set()
            await anyio.sleep_forever()
        finally:
            task.checkpoint({"page": 7})

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: run_handler(handler, delivery, task=task))
        await begun.wait()
        group.cancel_scope.cancel()
    assert task.notes.unstored_checkpoint == b'{"page":7}'
    assert task.cancelled


async def test_a_thread_cancelled_in_the_middle_may_save_a_checkpoint() -> None:
    delivery = delivery_of()
    task = Task(delivery)
    begun = anyio.Event()

    def handler(task: Task) -> None:
        anyio.from_thread.run_sync(begun.set)
        wait_until_cancelled(task)
        task.checkpoint({"page": 7})

    async with anyio.create_task_group() as group:
        group.start_soon(lambda: run_handler(handler, delivery, task=task))
        await begun.wait()
        group.cancel_scope.cancel()
    assert task.notes.unstored_checkpoint == b'{"page":7}'


async def test_a_thread_that_stops_in_its_grace_is_not_stuck() -> None:
    stuck: list[str] = []
    outcome = await run_handler(heeds, timeout=SHORT, on_stuck=lambda: stuck.append("stuck"))
    assert_timed_out(outcome)
    assert not stuck


async def test_a_thread_that_will_not_stop_is_told_once_and_waited_for() -> None:
    release, stuck = threading.Event(), anyio.Event()
    told: list[str] = []
    outcomes: list[Outcome] = []

    def stubborn() -> str:
        release.wait(10)
        return "at last"

    def on_stuck() -> None:
        told.append("stuck")
        stuck.set()

    async def running() -> None:
        outcomes.append(await run_handler(stubborn, timeout=SHORT, on_stuck=on_stuck, thread_grace=SHORT))

    async with anyio.create_task_group() as group:
        group.start_soon(running)
        await stuck.wait()
        await anyio.wait_all_tasks_blocked()
        assert not outcomes
        release.set()
    assert told == ["stuck"]
    assert_timed_out(outcomes[0])


async def test_what_a_stuck_thread_answers_after_all_is_no_outcome() -> None:
    release, stuck = threading.Event(), anyio.Event()
    outcomes: list[Outcome] = []

    async def running() -> None:
        outcomes.append(await run_handler(lambda: release.wait(10), on_stuck=stuck.set, thread_grace=SHORT))

    async with anyio.create_task_group() as group:
        group.start_soon(running)
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
        with anyio.CancelScope(shield=True):
            await stuck.wait()
            release.set()
    assert not outcomes


async def test_a_stuck_thread_keeps_its_place_among_the_threads() -> None:
    release, stuck = threading.Event(), anyio.Event()
    limiter = anyio.CapacityLimiter(2)

    async def running() -> None:
        await run_handler(
            lambda: release.wait(10), limiter=limiter, timeout=SHORT, on_stuck=stuck.set, thread_grace=SHORT
        )

    async with anyio.create_task_group() as group:
        group.start_soon(running)
        await stuck.wait()
        assert limiter.borrowed_tokens == 1
        release.set()
    assert limiter.borrowed_tokens == 0


async def test_cancelled_while_it_waits_for_a_thread_it_never_starts() -> None:
    ran: list[int] = []
    limiter = anyio.CapacityLimiter(1)
    await limiter.acquire_on_behalf_of("another")
    async with anyio.create_task_group() as group:
        group.start_soon(lambda: run_handler(lambda: ran.append(1), limiter=limiter))
        await anyio.wait_all_tasks_blocked()
        group.cancel_scope.cancel()
    assert not ran


async def test_a_cancelled_task_of_the_handlers_own_is_an_error() -> None:
    async def handler() -> None:
        own = asyncio.ensure_future(asyncio.Event().wait())
        own.cancel()
        await own

    for timeout in (None, 60.0):
        outcome = await run_handler(handler, timeout=timeout)
        assert isinstance(outcome, Raised)
        assert outcome.failure.type == "asyncio.exceptions.CancelledError"


async def test_a_handlers_own_timeout_is_its_own() -> None:
    async def handler() -> str:
        with anyio.move_on_after(SHORT):
            await anyio.sleep_forever()
        return "gave up waiting"

    assert isinstance(await run_handler(handler, timeout=60.0), Completed)


async def test_a_handler_that_cancels_its_own_asyncio_task_has_failed() -> None:
    async def handler() -> None:
        cancel_own_task()
        await anyio.sleep_forever()

    for timeout in (None, 60.0):
        outcome = await run_handler(handler, timeout=timeout)
        assert isinstance(outcome, Raised)
        assert outcome.failure.type == "asyncio.exceptions.CancelledError"
        assert outcome.failure.message.startswith("the handler's own asyncio task was cancelled")
        assert "cancel_own_task" not in outcome.failure.traceback  # where it was met, not where it was asked for
        _forget_cancellation()


async def test_a_handler_that_cancels_its_own_asyncio_task_and_returns_has_answered() -> None:
    async def handler() -> str:
        cancel_own_task()
        return "answered"

    async def running() -> None:
        outcomes.append(await run_handler(handler))

    outcomes: list[Outcome] = []
    await asyncio.gather(asyncio.ensure_future(running()), return_exceptions=True)
    assert isinstance(outcomes[0], Completed)


async def test_a_timeout_of_asyncio_within_a_handler_is_its_own() -> None:
    async def handler() -> str:
        try:
            async with asyncio.timeout(SHORT):
                await anyio.sleep_forever()
        except TimeoutError:
            return "gave up waiting"
        return "never"

    assert isinstance(await run_handler(handler, timeout=60.0), Completed)


async def test_a_cancelled_asyncio_task_waits_for_its_thread_and_asks_it_to_stop() -> None:
    begun, over = anyio.Event(), list[str]()
    outcomes: list[Outcome] = []

    def handler(task: Task) -> None:
        anyio.from_thread.run_sync(begun.set)
        wait_until_cancelled(task)
        over.append("thread")

    async def running() -> None:
        outcomes.append(await run_handler(handler))
        over.append("delivery")

    own = asyncio.ensure_future(running())
    await begun.wait()
    own.cancel()
    await asyncio.wait([own])
    assert over == ["thread", "delivery"]
    assert isinstance(outcomes[0], Raised)


async def test_a_cancelled_asyncio_task_that_waits_for_a_thread_never_starts_it() -> None:
    ran, stuck = list[int](), list[str]()
    limiter = anyio.CapacityLimiter(1)
    await limiter.acquire_on_behalf_of("another")
    running = run_handler(
        lambda: ran.append(1), limiter=limiter, on_stuck=lambda: stuck.append("stuck"), thread_grace=SHORT
    )
    own = asyncio.ensure_future(running)
    await anyio.wait_all_tasks_blocked()
    own.cancel()
    await asyncio.wait([own])
    assert isinstance(own.result(), Raised)
    assert (ran, stuck) == ([], [])


async def test_a_thread_that_cancels_what_it_runs_on_the_loop_has_failed() -> None:
    async def on_the_loop() -> None:
        cancel_own_task()
        await anyio.sleep_forever()

    outcome = await run_handler(lambda: anyio.from_thread.run(on_the_loop))
    assert isinstance(outcome, Raised)
    assert outcome.failure.type.endswith("CancelledError")


def _forget_cancellation() -> None:
    """This test runs in the asyncio task that its handler has cancelled."""
    current = asyncio.current_task()
    while current and current.cancelling():
        current.uncancel()
