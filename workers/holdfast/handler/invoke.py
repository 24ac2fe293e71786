"""Calls a handler of any kind and gets its last value."""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import math
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import anyio

from holdfast.handler.function import FunctionKind, HandlerFunction
from holdfast.handler.run_notes import RunNotes
from holdfast.handler.task import Task
from holdfast.handler.threads import Ended, Threads, in_thread
from holdfast.os.kill_points import Point, reached
from holdfast.os.loop_threads import on_loop

FINISHED = frozenset({str, dict, list, int, float, bool, type(None)})


async def call(callee: HandlerFunction, arguments: dict[str, Any], notes: RunNotes, threads: Threads) -> Any:
    """Call the handler; returns its value or raises its exception. A generator's last value is the result, every value
    is progress."""
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
    """The final value. If the handler returned an awaitable or a generator, that is run first."""
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
    """Call a handler that is not async, in this thread; returns its last value."""
    value = callee.function(**arguments)
    return _last_sync(cast("Generator[Any, None, Any]", value), notes) if inspect.isgenerator(value) else value


async def _last(values: AsyncGenerator[Any, None], notes: RunNotes) -> Any:
    last = None
    async with aclosing(values):
        async for last in values:
            notes.show(last)
    return last


def _last_sync(values: Generator[Any, None, Any], notes: RunNotes) -> Any:
    """The value that a generator returns, if any, else the last one yielded. Between two values it stops if it was
    cancelled."""
    last = None
    try:
        while not notes.cancelled:
            last = next(values)
            notes.show(last)
    except StopIteration as end:
        return last if end.value is None else end.value
    values.close()
    return last


# Calls a handler inside its middleware.
#
# Async middleware runs in the delivery's own asyncio task. Plain middleware runs in a thread; if all that is inside it
# is plain as well, in one thread with it, so that what belongs to a thread (a connection, a transaction) is theirs
# together. Else, and around a handler of the main thread, the event loop runs what is inside, while the thread waits.
#
# Only the first thread of a delivery takes a place of the limiter: one that waited for a second place would keep the
# first one, and deliveries that all do so would wait for each other.

Arguments = Callable[[], dict[str, Any]]


async def call_inside(callee: HandlerFunction, arguments: Arguments, task: Task, threads: Threads) -> Any:
    """Call the handler inside its middleware; returns the value, or raises the exception, of the outermost one.
    `arguments()` makes the handler's arguments for each call; its exception counts as the handler's."""
    surrounded = _Surrounded(callee, arguments, task)
    value = await surrounded.layer(0, threads)
    return await finished(value, task.notes, threads)


@dataclass(frozen=True, slots=True)
class _Surrounded:
    callee: HandlerFunction
    arguments: Arguments
    task: Task

    async def layer(self, index: int, threads: Threads) -> Any:
        """Call the middleware `index` and all that is inside it; after the last one, the handler."""
        around = self.callee.middleware
        if index == len(around):
            return await self._call(threads)
        if around[index].is_async:
            return await around[index].function(self.task, partial(self.layer, index + 1, threads))
        return await in_thread(partial(self._in_thread, index, threads), self.task.notes, threads)

    async def _call(self, threads: Threads) -> Any:
        """Call the handler; inside plain middleware this is another asyncio task."""
        before, self.task.runner = self.task.runner, asyncio.current_task()
        try:
            return await call(self.callee, self.arguments(), self.task.notes, threads)
        finally:
            self.task.runner = before

    def _in_thread(self, index: int, threads: Threads) -> Any:
        """Call the layer in a thread."""
        around = self.callee.middleware
        nested = replace(threads, limiter=anyio.CapacityLimiter(math.inf))
        if index == len(around):
            return self._handler_in_thread(nested)
        is_same_thread = self.callee.kind is FunctionKind.SYNC and not self.callee.options.in_main_thread
        is_plain = is_same_thread and not any(each.is_async for each in around[index + 1 :])
        inside = partial(self._in_thread, index + 1, threads) if is_plain else partial(self.layer, index + 1, nested)
        return around[index].function(self.task, inside if is_plain else partial(_on_loop, inside))

    def _handler_in_thread(self, threads: Threads) -> Any:
        notes = self.task.notes
        value = call_sync(self.callee, self.arguments(), notes)
        return value if type(value) in FINISHED else _on_loop(partial(finished, value, notes, threads))


def _on_loop(work: Callable[[], Awaitable[Any]]) -> Any:
    """Run this on the event loop while the calling thread waits. In the thread, a cancellation is raised as
    CancelledError, too. The class that threads usually get is an Exception, and handlers might catch it."""
    try:
        ended = on_loop(_captured, work)
    except concurrent.futures.CancelledError:
        raise asyncio.CancelledError from None
    return ended.result()


async def _captured(work: Callable[[], Awaitable[Any]]) -> Ended:
    """Catches SystemExit in an asyncio task: it would end the event loop."""
    try:
        return Ended(await work())
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return Ended(error=error)
