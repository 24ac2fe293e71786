"""Finds the manager for code that names none: that of the broker around the code, else one made from the settings.

A broker counts for the code within its block and the tasks begun there, and for all other code of its event loop while
no second broker is open in it. Without a broker the settings name the store, like in `create_broker()`. It is opened
once for an event loop, at the first call, and closed with the loop. An import opens nothing, and a fork keeps nothing.
In a test, the test's manager comes before all others, in every thread and event loop.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from typing import Any, ParamSpec, TypeVar

from holdfast.client.manager import TaskManager
from holdfast.client.store_source import find_source, names_memory
from holdfast.errors import AmbiguousManagerError, StoreRefusedError, WouldBlockError
from holdfast.os.loop_threads import ProcessLoop, is_thread_of_loop, on_loop
from holdfast.store.current_store import substituted
from holdfast_config import service_folders

NOBODY_RUNS_THEM = (
    "the task would stay in the memory of this process, where nobody runs it: no store is named and no supervisor "
    "runs in {}{}: set REDIS_URL, start a supervisor, or submit within `async with create_broker() as broker`"
)


@dataclass(frozen=True, slots=True, eq=False)
class OpenBroker:
    """The manager of a broker while it is entered; `outer`: the broker around it."""

    manager: TaskManager
    queue: str
    loop: asyncio.AbstractEventLoop
    outer: OpenBroker | None
    pid: int


_around: ContextVar[OpenBroker | None] = ContextVar("holdfast_open_broker", default=None)
_open: list[OpenBroker] = []
_of_test: list[TaskManager] = []
_of_settings: dict[asyncio.AbstractEventLoop, _OfSettings] = {}


def enter(manager: TaskManager, queue: str) -> OpenBroker:
    """Note a broker that was entered, for the code of this context and event loop."""
    entered = OpenBroker(manager, queue, asyncio.get_running_loop(), _around.get(), os.getpid())
    _open.append(entered)
    _around.set(entered)
    return entered


def leave(entered: OpenBroker) -> None:
    """Forget a broker; it may have been entered in another context."""
    _open.remove(entered)
    if _around.get() is entered:
        _around.set(entered.outer)


@contextmanager
def everywhere(manager: TaskManager) -> Generator[None]:
    """Make this the manager of all code of this process while the block runs; its store stands in for all others."""
    _of_test.append(manager)
    try:
        yield
    finally:
        _of_test.remove(manager)


def manager_of_test() -> TaskManager | None:
    """The manager of the test that runs; None outside of a test, and in a fork."""
    return _of_test[-1] if _of_test and substituted() else None


def loop_around() -> asyncio.AbstractEventLoop | None:
    """The event loop of the innermost broker that is open around this code, which may run in a thread (as
    asyncio.to_thread begins one) beside that loop; None in a fork."""
    around = _around.get()
    while around is not None and around not in _open:
        around = around.outer
    return around.loop if around is not None and around.pid == os.getpid() else None


def manager_in_scope() -> TaskManager | None:
    """The manager of the broker around this code, else of the only broker that is open in this event loop; None if no
    broker is open, or no event loop runs. Raises AmbiguousManagerError."""
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return None
    here = [each for each in _open if each.loop is loop]
    around = _around.get()
    while around is not None:
        if around in here:
            return around.manager
        around = around.outer
    if len(here) > 1:
        queues = ", ".join(each.queue for each in here)
        raise AmbiguousManagerError(
            f"{len(here)} brokers are open in this event loop (queues {queues}), none around this code: "
            "submit within the block of one, or through its `broker.manager`"
        )
    return here[0].manager if here else None


async def current_manager() -> TaskManager:
    """The manager in scope, else that of the settings. Raises AmbiguousManagerError, ConfigError,
    StoreUnavailableError, StoreRefusedError (no store is named)."""
    found = manager_of_test() or manager_in_scope()
    if found is not None:
        return found
    loop = asyncio.get_running_loop()
    if loop not in _of_settings:
        for closed in [each for each in _of_settings if each.is_closed()]:
            del _of_settings[closed]
        _of_settings[loop] = _OfSettings(loop)
    return await _of_settings[loop].opened()


class _OfSettings:
    """A manager by the settings for one event loop. An asyncio task holds its store open until the loop ends, which
    cancels it."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._opening: asyncio.Future[TaskManager] = loop.create_future()
        self._holder = loop.create_task(self._hold(), name="holdfast-manager")

    async def opened(self) -> TaskManager:
        return await asyncio.shield(self._opening)

    async def _hold(self) -> None:
        try:
            await self._serve()
        except BaseException as error:  # the border of a task: the callers get the error, and the next one tries again
            self._forget()
            if self._opening.done():
                raise
            if isinstance(error, asyncio.CancelledError):
                self._opening.cancel()
                raise
            self._opening.set_exception(error)

    async def _serve(self) -> None:
        from holdfast_config import load  # seldom needed in a worker

        settings = load({})
        source = await find_source(settings, (), in_memory=names_memory(settings))
        if source.private:
            raise StoreRefusedError(
                NOBODY_RUNS_THEM.format(settings.runtime_dir, service_folders.in_brackets(settings.runtime_dir))
            )
        async with source.opening as store:
            await store.ping()
            self._opening.set_result(source.manager(store))
            try:
                await asyncio.Event().wait()
            finally:
                self._forget()  # before the store is closed: the next call opens another one

    def _forget(self) -> None:
        if _of_settings.get(self._loop) is self:
            del _of_settings[self._loop]


# Runs coroutine functions for code without async: in the event loop that began its thread, else in the background.

R = TypeVar("R")
P = ParamSpec("P")


@asynccontextmanager
async def _nothing() -> AsyncGenerator[None]:
    yield


_background = ProcessLoop(_nothing)


def call_sync(function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a coroutine function for code without async; returns its value, or raises its error.

    A thread of an event loop (for a sync handler or request), or one with the context of an open broker
    (`asyncio.to_thread`), uses that loop and its manager. All other code uses one loop in the background of the
    process. Raises WouldBlockError in a coroutine with an open broker, because its loop could not serve the call.
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
    """Gives code without async the manager of the running test, in place of one in a background loop."""

    served: TaskManager

    def call(self, function: Callable[..., Awaitable[R]], *args: Any, **kwargs: Any) -> R:
        """The result or the error of a coroutine function."""
        return call_sync(function, *args, **kwargs)


async def _awaited(call: Callable[[], Awaitable[R]]) -> R:
    return await call()
