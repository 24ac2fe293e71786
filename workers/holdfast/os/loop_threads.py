"""Threads that carry out sync code for an event loop: they can call it back."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, TypeVarTuple

import anyio.from_thread

from holdfast.errors import ForkedProcessError
from holdfast.os import main_thread
from holdfast.os.forked_copy import copied

R = TypeVar("R")
Ts = TypeVarTuple("Ts")


def is_thread_of_loop() -> bool:
    """True in a worker thread of anyio, and in the main thread where that carries out a call. Raises the loop's
    cancellation if the code in it is to stop. A process that a handler has forked has no such thread."""
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
    """Run a coroutine function on the event loop while this thread, one of the loop's, waits; its value or error.
    Raises ForkedProcessError."""
    if copied:
        raise ForkedProcessError(
            "this process was forked by a handler and has no event loop: make this call in the handler itself"
        )
    call = _main_call()
    return anyio.from_thread.run(function, *args) if call is None else main_thread.call_loop(call, function, *args)


def _main_call() -> main_thread.MainCall | None:
    opened = main_thread.opened()
    return None if opened is None else opened.running()
