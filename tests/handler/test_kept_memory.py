"""A task that has failed keeps nothing: what its frames held is free at once, without the collector of cycles."""

from __future__ import annotations

import gc
import weakref
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import anyio
import pytest

from holdfast import Handlers, Task
from holdfast.core.messages import call_part
from tests.handler.deliveries import delivery_of, run_handler

pytestmark = pytest.mark.anyio

FAILURES = 200
FEW = 5  # the last ones: an idle thread may have just ended its call

held: weakref.WeakSet[Held] = weakref.WeakSet()


class Held:
    """An object that a handler has in a local variable."""

    def __init__(self) -> None:
        held.add(self)


async def coroutine() -> None:
    local = Held()
    raise ValueError(str(local))


def plain() -> None:
    local = Held()
    raise ValueError(str(local))


def plain_chain() -> None:
    local = Held()
    try:
        plain()
    except ValueError as error:
        raise KeyError(str(local)) from error


def plain_exit() -> None:
    local = Held()
    raise SystemExit(str(local))


def generator() -> Iterator[str]:
    local = Held()
    yield "progress"
    raise ValueError(str(local))


async def async_generator() -> AsyncIterator[str]:
    local = Held()
    yield "progress"
    raise ValueError(str(local))


async def step(task: Task) -> None:
    await task.step("one", plain)


async def timed_out() -> None:
    local = Held()
    await anyio.sleep_forever()
    raise ValueError(str(local))


def stopped(task: Task) -> None:
    local = Held()
    while not task.cancelled:
        pass
    raise ValueError(str(local))


async def on_loop(task: Task, call: Callable[[], Awaitable[Any]]) -> Any:
    return await call()


def in_thread(task: Task, call: Callable[[], Any]) -> Any:
    return call()


@pytest.fixture
def _no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


KINDS = [coroutine, plain, plain_chain, plain_exit, generator, async_generator, step]


@pytest.mark.usefixtures("_no_collector")
@pytest.mark.parametrize("middleware", [None, on_loop, in_thread])
@pytest.mark.parametrize("function", KINDS)
async def test_what_a_failed_task_held_is_free(function: Callable[..., Any], middleware: Any) -> None:
    handlers = Handlers()
    if middleware is not None:
        handlers.use(middleware)
    handlers.register("f")(function)
    handler = handlers.frozen("tests:handlers")
    held.clear()
    for _ in range(FAILURES):
        await run_handler(handler, delivery_of([call_part("f", {})]))
    assert len(held) <= FEW


@pytest.mark.usefixtures("_no_collector")
@pytest.mark.parametrize("function", [timed_out, stopped])
async def test_what_a_task_held_that_took_too_long_is_free(function: Callable[..., Any]) -> None:
    held.clear()
    for _ in range(20):
        await run_handler(function, timeout=0.001)
    assert len(held) <= FEW
