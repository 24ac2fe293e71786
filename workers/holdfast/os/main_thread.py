"""Runs functions in the main thread of this process, one at a time, while its event loop runs in another thread.

Theory of operation. Python lets only the main thread set signal handlers, and runs them only there. So a library that
uses signals works only in the main thread. The event loop hands a call to the main thread (`MainThread.call`) and goes
on. The main thread carries the call out, and wakes the loop at its end.

A call is stopped by an exception. `call` sends SIGURG to the main thread, which ends most waits there (a sleep, a read,
a lock). The handler of SIGURG raises CancelledError. Only the main thread runs that handler, and `_running` is the call
that it interrupts. If the order to stop a call comes after its end, nothing is raised.

Every call begins with the same signal handlers. A timer or a signal handler that a function leaves behind is removed,
so that it does not interrupt the next call.
"""

from __future__ import annotations

import asyncio
import contextvars
import signal
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from functools import partial
from queue import SimpleQueue
from types import FrameType
from typing import Any, TypeVar, TypeVarTuple

import anyio
import anyio.from_thread
import anyio.lowlevel

from holdfast.os.forked_copy import copied, handler_of, set_handler

R = TypeVar("R")
Ts = TypeVarTuple("Ts")

STOP = signal.SIGURG  # ignored by default: a library that resets it does not end the process
TOLD = (signal.SIGTERM, signal.SIGINT)
KEPT = frozenset(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}


@dataclass(slots=True, eq=False)
class MainCall:
    """A call on its way through the main thread. `stop_raised`: CancelledError was raised in the function."""

    function: Callable[[], object]
    context: contextvars.Context
    loop: asyncio.AbstractEventLoop
    token: anyio.lowlevel.EventLoopToken
    over: anyio.Event
    has_begun: bool = False
    is_stopping: bool = False
    stop_raised: bool = False
    failure: BaseException | None = None


@dataclass(slots=True, eq=False)
class MainThread:
    """The main thread of this process, while it waits for calls."""

    _calls: deque[MainCall] = field(default_factory=deque[MainCall])
    _wake: SimpleQueue[None] = field(default_factory=SimpleQueue)
    _running: MainCall | None = None
    _is_told: bool = False
    _tell: Callable[[], object] | None = None

    def serve(self, run_loop: Callable[[], R], on_leftover: Callable[[BaseException], None]) -> R:
        """Run `run_loop` in a thread, and calls in this (main) thread until the loop has ended; returns the loop's
        value. `on_leftover` gets an exception that a left-behind signal handler raised outside of every call.
        """
        global _opened
        ended: Future[R] = Future()
        context = contextvars.copy_context()
        thread = threading.Thread(target=context.run, args=(self._run_loop, run_loop, ended), name="event loop")
        for number in TOLD:
            signal.signal(number, self._note_told)
        signal.signal(STOP, self._raise_stop)
        _opened = self
        thread.start()
        while not ended.done():
            try:
                self._wake.get()
                self._carry_out_all()
            except BaseException as error:  # a border: this thread must carry out further calls
                on_leftover(error)
        return ended.result()

    def _run_loop(self, run_loop: Callable[[], R], ended: Future[R]) -> None:
        try:
            ended.set_result(run_loop())
        except BaseException as error:
            ended.set_exception(error)
        finally:
            self._wake.put(None)

    def heed(self, tell: Callable[[], None]) -> None:
        """Call `tell` in the running event loop when this process gets SIGTERM or SIGINT. If this process already got
        such a signal, call it now."""
        loop = asyncio.get_running_loop()
        self._tell = partial(loop.call_soon_threadsafe, tell)
        if self._is_told:
            tell()

    async def call(self, function: Callable[[], object]) -> None:
        """Call `function` in the main thread; it must raise nothing. If this coroutine is cancelled, it stops the call
        and waits for its end. Raises the error if the function could not be called."""
        call = MainCall(
            function,
            contextvars.copy_context(),
            asyncio.get_running_loop(),
            anyio.lowlevel.current_token(),
            anyio.Event(),
        )
        self._calls.append(call)
        self._wake.put(None)
        try:
            await call.over.wait()
        except anyio.get_cancelled_exc_class():
            self._stop(call)
            with anyio.CancelScope(shield=True):
                await call.over.wait()
            raise
        if call.failure is not None:
            raise call.failure

    def running(self) -> MainCall | None:
        """The call that this thread carries out; None in every other thread."""
        return self._running if threading.current_thread() is threading.main_thread() else None

    def _stop(self, call: MainCall) -> None:
        call.is_stopping = True
        if self._running is call:
            signal.pthread_kill(threading.main_thread().ident or 0, STOP)

    def _raise_stop(self, _number: int, _frame: FrameType | None) -> None:
        call = self._running
        if call is not None and call.is_stopping and not call.stop_raised:
            call.stop_raised = True
            raise asyncio.CancelledError("the task is to stop")

    def _note_told(self, _number: int, _frame: FrameType | None) -> None:
        self._is_told = True
        if self._tell is not None:
            self._tell()

    def _carry_out_all(self) -> None:
        """Carry out all calls. A call stays first in the queue until the loop knows its end, so that an exception in
        between does not lose it."""
        while self._calls:
            self._carry_out(self._calls[0])
            self._calls.popleft()

    def _carry_out(self, call: MainCall) -> None:
        if not call.has_begun:
            call.has_begun = True
            self._call(call)
        call.loop.call_soon_threadsafe(call.over.set)

    def _call(self, call: MainCall) -> None:
        handlers = {number: handler_of(number) for number in KEPT}
        try:
            self._running = call
            try:
                if not call.is_stopping:
                    call.context.run(call.function)
            finally:
                self._running = None
                _restore(handlers)
        except BaseException as error:  # a signal handler raised it, outside of the guards of the function
            self._running = None
            call.failure = error


def _restore(handlers: dict[signal.Signals, Any]) -> None:
    signal.setitimer(signal.ITIMER_REAL, 0)
    for number, handler in handlers.items():
        if handler is not None and handler_of(number) is not handler:
            set_handler(number, handler)


def call_loop(call: MainCall, function: Callable[[*Ts], Coroutine[Any, Any, R]], *args: *Ts) -> R:
    """Run this coroutine function on the event loop while the function in the main thread waits. An order to stop ends
    the wait and cancels the coroutine."""
    scopes: list[anyio.CancelScope] = []

    async def inside() -> R:
        with anyio.CancelScope() as scope:
            scopes.append(scope)
            return await function(*args)
        raise asyncio.CancelledError

    try:
        return anyio.from_thread.run(inside, token=call.token)
    except BaseException:
        for scope in scopes:
            call.loop.call_soon_threadsafe(scope.cancel)
        raise


_opened: MainThread | None = None


def opened() -> MainThread | None:
    """The main thread of this process, if it waits for calls. None if the event loop runs in the main thread, and in a
    process forked by a handler."""
    return None if copied else _opened
