"""Finds the manager for code that names no manager: the manager of the broker around the code, else one made from the
settings.

A broker serves the code within its block, and the asyncio tasks begun there. While it is the only open broker of its
event loop, it serves all other code of the loop, too. Without a broker, the settings name the store, like in
`create_broker()`. The first call in an event loop opens this store, and the end of the loop closes it. An import opens
no store, and a forked process does not use its parent's. In a test, code in every thread and event loop gets the test's
manager.
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
    "the task would stay in the memory of this process, where no worker runs it: no store is named and no supervisor "
    "runs in {}{}: set REDIS_URL, start a supervisor, or submit within `async with create_broker() as broker`"
)


@dataclass(frozen=True, slots=True, eq=False)
class OpenBroker:
    """A broker whose `async with` block is open, with its manager. `outer`: the broker around it."""

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
    """Record that a broker's block was entered. Code of this context and event loop then finds its manager."""
    entered = OpenBroker(manager, queue, asyncio.get_running_loop(), _around.get(), os.getpid())
    _open.append(entered)
    _around.set(entered)
    return entered


def leave(entered: OpenBroker) -> None:
    """Forget a broker whose block has ended. The block may have begun in another context."""
    _open.remove(entered)
    if _around.get() is entered:
        _around.set(entered.outer)


@contextmanager
def everywhere(manager: TaskManager) -> Generator[None]:
    """Make this manager the one that all code of the process finds while the block runs. The manager's store stands in
    for all other stores."""
    _of_test.append(manager)
    try:
        yield
    finally:
        _of_test.remove(manager)


def manager_of_test() -> TaskManager | None:
    """The manager that `everywhere` has set for the running test; None outside of a test, and in a fork."""
    return _of_test[-1] if _of_test and substituted() else None


def loop_around() -> asyncio.AbstractEventLoop | None:
    """The event loop of the innermost open broker around this code. The code may run in a thread beside that loop, such
    as one of asyncio.to_thread. None if no broker is open around the code, and in a fork."""
    around = _around.get()
    while around is not None and around not in _open:
        around = around.outer
    return around.loop if around is not None and around.pid == os.getpid() else None


def manager_in_scope() -> TaskManager | None:
    """The manager of the broker around this code, else of the only open broker in this event loop. None if no broker is
    open, or no event loop runs. Raises AmbiguousManagerError if several are open, and none around this code."""
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
            f"{len(here)} brokers are open in this event loop (queues {queues}), and this code is in the block of "
            "none: submit in the `async with` block of one broker, or by `broker.manager`"
        )
    return here[0].manager if here else None


async def current_manager() -> TaskManager:
    """The manager in scope, else one made from the settings. Raises AmbiguousManagerError, ConfigError,
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
    """A manager made from the settings, for one event loop. An asyncio task holds its store open; the end of the loop
    cancels this task."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._opening: asyncio.Future[TaskManager] = loop.create_future()
        self._holder = loop.create_task(self._hold(), name="holdfast-manager")

    async def opened(self) -> TaskManager:
        return await asyncio.shield(self._opening)

    async def _hold(self) -> None:
        try:
            await self._serve()
        except BaseException as error:  # the border of a task: waiting callers get the error, a later call tries again
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
            await store.ping_for_submits()
            self._opening.set_result(source.manager(store))
            try:
                await asyncio.Event().wait()
            finally:
                self._forget()  # before the store is closed: the next call opens another one

    def _forget(self) -> None:
        if _of_settings.get(self._loop) is self:
            del _of_settings[self._loop]


# Run coroutine functions for code without async: in the event loop that began its thread, else in a background loop.

R = TypeVar("R")
P = ParamSpec("P")


@asynccontextmanager
async def _nothing() -> AsyncGenerator[None]:
    yield


_background = ProcessLoop(_nothing)


def call_sync(function: Callable[P, Awaitable[R]], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a coroutine function for code without async; returns its value, or raises its error.

    Some threads are begun by an event loop, for a sync handler or request: code in such a thread uses that loop and its
    manager. Code with the context of an open broker (`asyncio.to_thread`) uses the broker's loop. All other code uses
    one loop in a background thread of the process. Raises WouldBlockError in a coroutine with an open broker, because
    the coroutine's loop could not serve the call.
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
    """Stands in for the background loop of code without async while a test runs: `served` is the test's manager."""

    served: TaskManager

    def call(self, function: Callable[..., Awaitable[R]], *args: Any, **kwargs: Any) -> R:
        """Run a coroutine function; returns its result, or raises its error."""
        return call_sync(function, *args, **kwargs)


async def _awaited(call: Callable[[], Awaitable[R]]) -> R:
    return await call()
