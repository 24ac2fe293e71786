"""Runs coroutine functions for code without async: in the event loop that began its thread, else in the background."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

from holdfast.client.manager import TaskManager
from holdfast.client.manager_in_scope import loop_around, manager_in_scope
from holdfast.client.process_loop import ProcessLoop
from holdfast.errors import WouldBlockError
from holdfast.os.loop_threads import is_thread_of_loop, on_loop

P = ParamSpec("P")
R = TypeVar("R")


@asynccontextmanager
async def _nothing() -> AsyncGenerator[None]:
    yield


_background = ProcessLoop(_nothing)


def call_sync(function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a coroutine function for code without async; returns its value, or raises its error.

    A thread that an event loop has begun for sync code (a handler's, a request's), or that has the context of an open
    broker (as in `asyncio.to_thread`), uses that loop and its manager; all other code a loop in the background, one in
    each process. Raises WouldBlockError in a coroutine, where a broker is open: its loop could not serve the call.
    """
    if is_thread_of_loop():
        return on_loop(_awaited, partial(function, *args, **kwargs))
    if manager_in_scope() is not None:
        raise WouldBlockError(
            "a sync call in a coroutine would block its event loop: await the async one (`submit`, not `submit_sync`)"
        )
    if (loop := loop_around()) is not None:
        return asyncio.run_coroutine_threadsafe(_awaited(partial(function, *args, **kwargs)), loop).result()
    return _background.running().call(function, *args, **kwargs)


@dataclass(frozen=True, slots=True)
class ServedByTest:
    """The manager of a test for code without async, in place of a manager in a loop of its own."""

    served: TaskManager

    def call(self, function: Callable[..., Awaitable[R]], *args: Any, **kwargs: Any) -> R:
        """The result or the error of a coroutine function."""
        return call_sync(function, *args, **kwargs)


async def _awaited(call: Callable[[], Awaitable[R]]) -> R:
    return await call()
