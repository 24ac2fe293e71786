"""Running a delivery: handlers of every kind, and what comes of whatever they do."""

from __future__ import annotations

import asyncio
import functools
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterator
from contextvars import ContextVar
from typing import Any

import anyio
import pytest

from holdfast.core.outcomes import Completed, Raised, Rejected, UnreadableMessage
from holdfast.errors import Reject, Retry
from holdfast.handler.failures import MESSAGE_BYTES, TRACEBACK_BYTES
from holdfast.handler.handler import Handler
from holdfast.handler.registry import Handlers
from holdfast.handler.task import Task
from tests.handler.deliveries import delivery_of, document, run_handler

pytestmark = pytest.mark.anyio

Messages = list[dict[str, Any]]


async def coroutine(messages: Messages) -> str:
    await anyio.lowlevel.checkpoint()
    return f"You said {messages[-1]['parts'][0]['text']}"


def function(messages: Messages) -> str:
    return f"You said {messages[-1]['parts'][0]['text']}"


def generator(messages: Messages) -> Iterator[str]:
    yield "You"
    yield f"You said {messages[-1]['parts'][0]['text']}"


def returning_generator(messages: Messages) -> Generator[str, None, str]:
    yield "You"
    return f"You said {messages[-1]['parts'][0]['text']}"


async def async_generator(messages: Messages) -> AsyncIterator[str]:
    yield "You"
    await anyio.lowlevel.checkpoint()
    yield f"You said {messages[-1]['parts'][0]['text']}"


def returns_coroutine(messages: Messages) -> Awaitable[str]:
    return coroutine(messages)


async def returns_coroutine_late(messages: Messages) -> Awaitable[str]:
    return coroutine(messages)


def returns_async_generator(messages: Messages) -> AsyncIterator[str]:
    return async_generator(messages)


async def returns_generator(messages: Messages) -> Iterator[str]:
    return generator(messages)


class Instance:
    async def __call__(self, messages: Messages) -> str:
        return await coroutine(messages)

    def method(self, messages: Messages) -> str:
        return function(messages)


def with_prefix(prefix: str, messages: Messages) -> str:
    return f"{prefix} {messages[-1]['parts'][0]['text']}"


@pytest.mark.parametrize(
    "handler",
    [
        coroutine,
        function,
        generator,
        returning_generator,
        async_generator,
        returns_coroutine,
        returns_coroutine_late,
        returns_async_generator,
        returns_generator,
        Instance(),
        Instance().method,
        functools.partial(with_prefix, "You said"),
        lambda messages: function(messages),
    ],
)
async def test_handlers_of_every_kind_come_to_their_last_value(handler: Callable[..., Any]) -> None:
    assert document(await run_handler(handler))["parts"] == [{"kind": "text", "text": "You said hello"}]


async def test_async_handlers_run_on_the_loop_and_sync_ones_beside_it() -> None:
    async def on_loop() -> bool:
        return threading.current_thread() is threading.main_thread()

    def beside() -> bool:
        return threading.current_thread() is threading.main_thread()

    def beside_too() -> Iterator[bool]:
        yield threading.current_thread() is threading.main_thread()

    threads = [document(await run_handler(one))["parts"][0]["data"] for one in (on_loop, beside, beside_too)]
    assert threads == [True, False, False]


async def test_context_variables_reach_the_thread() -> None:
    variable: ContextVar[str] = ContextVar("variable", default="unset")
    variable.set("set")
    assert document(await run_handler(lambda: variable.get()))["parts"][0]["text"] == "set"


async def test_each_yield_is_progress() -> None:
    seen: list[str] = []

    def steps(task: Task) -> Iterator[object]:
        for value in ("first", {"page": 2}, "x" * 1000, "größe" * 30, "two\nlines"):
            yield value
            seen.append(task.notes.progress)

    await run_handler(steps)
    assert seen[:2] == ["first", "{'page': 2}"]
    assert seen[4] == "two lines"
    assert all(len(progress.encode()) <= 64 for progress in seen)


async def test_a_generator_without_values_is_completed_without_artifact() -> None:
    async def nothing() -> AsyncIterator[str]:
        return
        yield ""

    assert document(await run_handler(nothing)) == {"state": "completed", "parts": []}


async def test_an_exception_is_kept_with_the_users_frames_alone() -> None:
    def inner() -> None:
        raise ValueError("no such thing")

    async def outer() -> None:
        try:
            inner()
        except ValueError as error:
            raise LookupError("not found") from error

    outcome = await run_handler(outer)
    assert isinstance(outcome, Raised)
    assert (outcome.failure.type, outcome.failure.message) == ("LookupError", "not found")
    assert (outcome.retry_after, outcome.final) == (None, False)
    assert "in inner" in outcome.failure.traceback
    assert "ValueError: no such thing" in outcome.failure.traceback
    assert "holdfast/handler" not in outcome.failure.traceback


class OwnError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("even this fails")


def raises(error: BaseException) -> Callable[[], None]:
    def handler() -> None:
        raise error

    return handler


def raises_async(error: BaseException) -> Callable[[], Awaitable[None]]:
    async def handler() -> None:
        raise error

    return handler


@pytest.mark.parametrize("raising", [raises, raises_async])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (SystemExit(3), "SystemExit"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "asyncio.exceptions.CancelledError"),
        (GeneratorExit(), "GeneratorExit"),
        (OwnError(), "tests.handler.test_run.OwnError"),
        (ValueError("\ud800"), "ValueError"),
        (ExceptionGroup("two", [ValueError("a"), TypeError("b")]), "ExceptionGroup"),
    ],
)
async def test_whatever_a_handler_raises_is_an_error_of_its_task(
    raising: Callable[[BaseException], Callable[[], Any]], error: BaseException, kind: str
) -> None:
    outcome = await run_handler(raising(error))
    assert isinstance(outcome, Raised)
    assert outcome.failure.type == kind
    outcome.failure.message.encode()


@pytest.mark.parametrize("raising", [raises, raises_async])
async def test_stop_iteration_is_an_error_too(raising: Callable[[BaseException], Callable[[], Any]]) -> None:
    outcome = await run_handler(raising(StopIteration("over")))
    assert isinstance(outcome, Raised)


async def test_an_error_is_kept_within_bounds() -> None:
    def deep(level: int) -> None:
        if level == 0:
            raise ValueError("ö" * 1_000_000)
        deep(level - 1)

    outcome = await run_handler(lambda: deep(500))
    assert isinstance(outcome, Raised)
    assert len(outcome.failure.message.encode()) == MESSAGE_BYTES
    assert len(outcome.failure.traceback.encode()) <= TRACEBACK_BYTES


async def test_endless_recursion_is_an_error_of_its_task() -> None:
    def forever() -> None:
        forever()

    outcome = await run_handler(forever)
    assert isinstance(outcome, Raised)
    assert outcome.failure.type == "RecursionError"


async def test_a_handler_may_ask_for_a_retry_or_reject_its_task() -> None:
    outcome = await run_handler(raises(Retry(after=2.5, reason="busy")))
    assert isinstance(outcome, Raised)
    assert (outcome.retry_after, outcome.failure.message, outcome.final) == (2.5, "busy", False)
    refusal = await run_handler(raises_async(Reject("not a number")))
    assert isinstance(refusal, Rejected)
    assert refusal.reason == "not a number"
    assert document(refusal) == {
        "state": "rejected",
        "parts": [],
        "error": {"type": "Reject", "message": "not a number", "traceback": ""},
    }


async def test_an_unreadable_operation_runs_nothing() -> None:
    ran: list[int] = []
    for raw, reason in ((b"{", "truncated"), (b'{"operation":"pause","params":{"task_id":"t-1"}}', "nothing to run")):
        outcome = await run_handler(lambda: ran.append(1), delivery_of(operation=raw))
        assert isinstance(outcome, UnreadableMessage)
        assert reason in outcome.reason
    assert not ran


async def test_an_operation_larger_than_allowed_is_unreadable() -> None:
    delivery = delivery_of("x" * 1000)
    outcome = await run_handler(coroutine, delivery, task=Task(delivery, max_bytes=1000))
    assert isinstance(outcome, UnreadableMessage)


def registry() -> Handler:
    handlers = Handlers()

    @handlers.register("bill")
    def bill(region: str, task: Task, copies: int = 1) -> str:
        return f"{region} {copies} {task.name}"

    @handlers.register("anything")
    async def anything(messages: Messages, **more: object) -> dict[str, object]:
        return {"messages": len(messages), **more}

    return handlers.frozen("tests:handlers")


def call_of(name: str, **kwargs: object) -> list[dict[str, Any]]:
    return [{"kind": "data", "data": {"name": name, "kwargs": kwargs}}]


async def test_named_handlers_get_their_arguments() -> None:
    result = document(await run_handler(registry(), delivery_of(call_of("bill", region="eu", copies=2))))
    assert result["parts"][0]["text"] == "eu 2 bill"
    result = document(await run_handler(registry(), delivery_of(call_of("anything", a=1))))
    assert result["parts"][0]["data"] == {"messages": 1, "a": 1}


@pytest.mark.parametrize(
    ("kwargs", "why"),
    [
        ({}, "missing arguments: region"),
        ({"region": "eu", "colour": 1}, "unexpected arguments: colour"),
        ({"region": "eu", "task": 1}, "unexpected arguments: task"),
    ],
)
async def test_arguments_that_do_not_fit_reject_the_task(kwargs: dict[str, Any], why: str) -> None:
    outcome = await run_handler(registry(), delivery_of(call_of("bill", **kwargs)))
    assert isinstance(outcome, Rejected)
    assert outcome.reason == why
    assert document(outcome)["error"]["message"] == why


async def test_an_unknown_name_is_tried_again_and_says_what_there_is() -> None:
    for parts in (call_of("bull"), "hello"):
        outcome = await run_handler(registry(), delivery_of(parts))
        assert isinstance(outcome, Raised)
        assert not outcome.final
        assert "tests:handlers registers: anything, bill" in outcome.failure.message


async def test_a_single_function_gets_everything_whatever_is_called() -> None:
    async def count(messages: Messages) -> int:
        return len(messages)

    assert isinstance(await run_handler(count, delivery_of(call_of("bill", region="eu"))), Completed)


async def test_the_limiter_bounds_the_threads() -> None:
    running, most = 0, 0
    lock = threading.Lock()
    together = threading.Barrier(2, timeout=5)

    def busy() -> None:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        together.wait()
        with lock:
            running -= 1

    limiter = anyio.CapacityLimiter(2)
    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(functools.partial(run_handler, busy, limiter=limiter))
    assert most == 2
