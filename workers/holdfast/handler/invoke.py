"""Calls a handler of any kind and gets its last value."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from typing import Any, cast

from holdfast.handler.function import HandlerFunction
from holdfast.handler.function_kind import FunctionKind
from holdfast.handler.run_notes import RunNotes
from holdfast.handler.threads import Threads, in_thread
from holdfast.os.kill_points import Point, reached

FINISHED = frozenset({str, dict, list, int, float, bool, type(None)})


async def call(callee: HandlerFunction, arguments: dict[str, Any], notes: RunNotes, threads: Threads) -> Any:
    """Call the handler; its value, or its exception. A generator's last value is the result, each value is progress."""
    reached(Point.HANDLER)
    match callee.kind:
        case FunctionKind.COROUTINE:
            value = await callee.function(**arguments)
        case FunctionKind.ASYNC_GENERATOR:
            value = await _last(callee.function(**arguments), notes)
        case FunctionKind.SYNC:
            run = functools.partial(call_sync, callee, arguments, notes)
            value = await in_thread(run, notes, threads, in_main_thread=callee.options.in_main_thread)
    return await finished(value, notes, threads)


async def finished(value: Any, notes: RunNotes, threads: Threads) -> Any:
    """A handler may return what still has to be run: an awaitable, a generator."""
    while type(value) not in FINISHED:
        if inspect.isawaitable(value):
            value = await value
        elif inspect.isasyncgen(value):
            value = await _last(cast("AsyncGenerator[Any, None]", value), notes)
        elif inspect.isgenerator(value):
            rest = cast("Generator[Any, None, Any]", value)
            value = await in_thread(functools.partial(_last_sync, rest, notes), notes, threads)
        else:
            break
    return value


def call_sync(callee: HandlerFunction, arguments: dict[str, Any], notes: RunNotes) -> Any:
    """Call a handler that is not async, in this thread; its last value."""
    value = callee.function(**arguments)
    return _last_sync(cast("Generator[Any, None, Any]", value), notes) if inspect.isgenerator(value) else value


async def _last(values: AsyncGenerator[Any, None], notes: RunNotes) -> Any:
    last = None
    async with aclosing(values):
        async for last in values:
            notes.show(last)
    return last


def _last_sync(values: Generator[Any, None, Any], notes: RunNotes) -> Any:
    """The value it returns, if any, else the last one yielded. Between two values it stops if it was cancelled."""
    last = None
    try:
        while not notes.cancelled:
            last = next(values)
            notes.show(last)
    except StopIteration as end:
        return last if end.value is None else end.value
    values.close()
    return last
