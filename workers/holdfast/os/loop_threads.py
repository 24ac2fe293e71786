"""Calls between threads and event loops: sync code calls back the loop that runs it, and code without a loop gets
one."""

from __future__ import annotations

import asyncio
import os
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import CancelledError, Future
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import Any, Generic, TypeVar, TypeVarTuple

import anyio
import anyio.from_thread
from anyio import RunFinishedError
from anyio.from_thread import BlockingPortal

from holdfast.errors import ClosedError, ForkedProcessError
from holdfast.os import main_thread
from holdfast.os.forked_copy import copied

T = TypeVar("T")
R = TypeVar("R")
Ts = TypeVarTuple("Ts")


# Threads that run sync code for an event loop, and can call the loop back.


def is_thread_of_loop() -> bool:
    """True in a worker thread of anyio, and in the main thread while it carries out a call. False in a process forked
    by a handler. Raises the loop's cancellation if the code must stop."""
    if copied:
        return False
    if (call := _main_call()) is not None:
        if call.is_stopping:
            raise asyncio.CancelledError
        return True
    try:
        anyio.from_thread.check_cancelled()
    except RuntimeError:
        return False
    return True


def on_loop(function: Callable[[*Ts], Coroutine[Any, Any, R]], *args: *Ts) -> R:
    """Run a coroutine function on the event loop that runs this thread, and wait. Returns its value or raises its
    error. Raises ForkedProcessError in a process forked by a handler."""
    if copied:
        raise ForkedProcessError(
            "this process was forked by a handler and has no event loop: make this call in the handler itself"
        )
    call = _main_call()
    return anyio.from_thread.run(function, *args) if call is None else main_thread.call_loop(call, function, *args)


def _main_call() -> main_thread.MainCall | None:
    opened = main_thread.opened()
    return None if opened is None else opened.running()


# An event loop in its own thread, and an object opened in it, for callers that have no loop.

CLOSED = "this TaskManager has been closed; make another one"


class BackgroundLoop(Generic[T]):
    """An event loop in its own thread. `served`: the object that `opening` opens there; the loop closes it at its end.
    The loop is asyncio's, because uvloop's handles in a forked child would disturb the parent's loop."""

    def __init__(self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> None:
        ready: Future[tuple[BlockingPortal, T]] = Future()
        self._thread = threading.Thread(target=_run, args=(opening, ready), name="holdfast-sync", daemon=True)
        self._thread.start()
        self._portal, self.served = ready.result()

    def call(self, function: Callable[..., Awaitable[R]], *args: Any, **kwargs: Any) -> R:
        """Run a coroutine function in the loop; returns its result or raises its error. Raises ClosedError if the loop
        ends before that."""
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
        """Ask the loop to end; calls under way end with ClosedError. A second call does nothing."""
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
] = []  # loops of the parent process; kept, because even deleting them would touch resources that both share


class ProcessLoop(Generic[T]):
    """A background loop for each process; the first call starts it, also after a fork. `opening` opens a resource that
    the loop serves, such as a store. A forked child does not use its parent's resource."""

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
        """Forget the loop in a forked child, because the loop's thread runs only in the parent."""
        if self._forgotten is not None:
            self._forgotten.detach()
        if self._background is not None:
            _inherited.append(self._background)
        self._begin_anew()


def _after_fork() -> None:
    for loop in list(_loops):
        loop.leave_to_parent()


os.register_at_fork(after_in_child=_after_fork)
