"""An event loop in its own thread, and an object opened in it, for callers that have no loop."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, ParamSpec, TypeVar

import anyio
from anyio import RunFinishedError
from anyio.from_thread import BlockingPortal

from holdfast.client.manager import TaskManager
from holdfast.client.manager_in_scope import loop_around, manager_in_scope
from holdfast.errors import ClosedError, WouldBlockError
from holdfast.os.loop_threads import is_thread_of_loop, on_loop

T = TypeVar("T")
R = TypeVar("R")

CLOSED = "it has been closed; make another TaskManager"


class BackgroundLoop(Generic[T]):
    """`served` is the object that `opening` opened in the thread's loop; it is closed there. Plain asyncio, not
    uvloop, whose handles would disturb the parent's loop from a forked child."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        ready: Future[tuple[BlockingPortal, T]] = Future()
        self._thread = threading.Thread(target=_run, args=(opening, ready), name="holdfast-sync", daemon=True)
        self._thread.start()
        self._portal, self.served = ready.result()

    def call(self, function: Callable[..., Awaitable[R]], *args: Any, **kwargs: Any) -> R:
        """The result or the error of a coroutine function. ClosedError if the loop ends before that."""
        try:
            answer: Future[R] = self._portal.start_task_soon(partial(function, *args, **kwargs))
        except (RuntimeError, RunFinishedError) as error:
            raise ClosedError(CLOSED) from error
        try:
            return answer.result()
        except CancelledError as error:
            raise ClosedError(CLOSED) from error
        except BaseException:
            answer.cancel()  # Ctrl-C ends the call in the loop as well
            raise

    def stop(self) -> None:
        """Ask the loop to end; calls under way end with ClosedError. It may be called again."""
        try:
            self._portal.start_task_soon(self._portal.stop, True)
        except (RuntimeError, RunFinishedError):
            return

    def close(self) -> None:
        """Stop the loop, and wait until everything is closed."""
        self.stop()
        self._thread.join()


def _run(opening: Callable[[], AbstractAsyncContextManager[T]], ready: Future[tuple[BlockingPortal, T]]) -> None:
    try:
        anyio.run(_serve, opening, ready)
    except BaseException as error:  # the border of the thread: the caller that waits for its start gets the error
        if ready.done():
            raise
        ready.set_exception(error)


async def _serve(
    opening: Callable[[], AbstractAsyncContextManager[T]], ready: Future[tuple[BlockingPortal, T]]
) -> None:
    async with opening() as served, BlockingPortal() as portal:
        ready.set_result((portal, served))
        await portal.sleep_until_stopped()


# Runs an event loop in the background of each process: started by the first call, and again after a fork.


_loops: weakref.WeakSet[ProcessLoop[Any]] = weakref.WeakSet()
_inherited: list[
    BackgroundLoop[Any]
] = []  # loops of the parent; kept, as even deleting them would touch what they share


class ProcessLoop(Generic[T]):
    """`opening` opens a resource that the loop serves, such as a store. A forked child does not use its parent's."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        self._opening = opening
        self._is_closed = False
        self._begin_anew()
        _loops.add(self)

    def _begin_anew(self) -> None:
        """Begin without a loop, as a new process does."""
        self._lock = threading.Lock()
        self._background: BackgroundLoop[T] | None = None
        self._forgotten: weakref.finalize[..., ProcessLoop[T]] | None = None

    def running(self) -> BackgroundLoop[T]:
        """The loop of this process. Raises ClosedError after `close`."""
        with self._lock:
            if self._is_closed:
                raise ClosedError(CLOSED)
            if self._background is None:
                self._background = BackgroundLoop(self._opening)
                self._forgotten = weakref.finalize(self, self._background.stop)
            return self._background

    def close(self) -> None:
        """Close the resource and end the thread; calls under way in other threads end with ClosedError."""
        with self._lock:
            self._is_closed = True
            background, self._background = self._background, None
        if background is not None:
            background.close()

    def leave_to_parent(self) -> None:
        """Called in a forked child, which does not have the thread."""
        if self._forgotten is not None:
            self._forgotten.detach()
        if self._background is not None:
            _inherited.append(self._background)
        self._begin_anew()


def _after_fork() -> None:
    for loop in list(_loops):
        loop.leave_to_parent()


os.register_at_fork(after_in_child=_after_fork)


# Runs coroutine functions for code without async: in the event loop that began its thread, else in the background.

P = ParamSpec("P")


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
