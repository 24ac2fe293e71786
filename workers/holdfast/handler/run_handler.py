"""Runs the handler of one delivery. However the handler ends, the delivery has an outcome; only cancellation is raised.

`run` bounds the call of any handler by its timeout; `run_unbounded` calls a coroutine that nothing bounds, in fewer
steps. Then come the end of a run by a sleep or a question, the call of a handler of each kind, and the call inside
middleware.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import inspect
import math
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import anyio

from holdfast.core.delivery import Delivery
from holdfast.core.outcomes import Failure, Outcome, Raised, Rejected, UnreadableMessage, failure_document
from holdfast.errors import RunEnded
from holdfast.handler.converters import MisfitError
from holdfast.handler.failures import message_of, outcome_of_error, user_traceback
from holdfast.handler.handler import FunctionKind, Handler, HandlerFunction
from holdfast.handler.returned_value import outcome_of
from holdfast.handler.run_notes import RunNotes
from holdfast.handler.task import Task
from holdfast.handler.threads import Ended, Threads, in_thread
from holdfast.handler.turn import messages_for
from holdfast.os.forked_copy import copied
from holdfast.os.kill_points import Point, armed, reached
from holdfast.os.loop_threads import on_loop
from holdfast_config.error_text import is_error, members_of

OWN_TASK_CANCELLED = "the handler's own asyncio task was cancelled, but not by a timeout, a cancel or a drain"

Work = Callable[[], Awaitable[Outcome]]


async def run(
    handler: Handler, delivery: Delivery, task: Task, threads: Threads, task_timeout: float | None
) -> Outcome:
    """Run the handler of `delivery`; returns its outcome. `task` is the delivery's Task. `task_timeout` (seconds, of
    its lane or the worker) counts if neither delivery nor handler has a timeout. If there is none, the producer's usual
    timeout counts.

    After a cancel, this call returns when the handler has ended. An async handler is interrupted; a handler in a thread
    has to check `task.cancelled`. If the thread has not ended `grace` seconds after it was cancelled or timed out,
    `on_stuck` of `threads` is called, once. `run` then still waits for the thread, for as long as the process lives.
    """
    if task.unreadable:
        return UnreadableMessage(task.unreadable)
    operation = task.operation
    own = handler.options(operation.name).timeout
    usual = task_timeout if own is None else own
    usual = operation.usual_timeout if usual is None else usual
    seconds = usual if delivery.timeout_ms is None else delivery.timeout_ms / 1000
    match handler.choose(operation.name):
        case None:
            # The task is retried: during a deployment, another worker may have the handler.
            return Raised(Failure("UnknownHandler", handler.absence(operation.name)))
        case HandlerFunction() as callee:
            if callee.middleware:
                return await _bounded(partial(_answer_inside, handler, callee, delivery, task, threads), task, seconds)
            arguments = _arguments(handler, callee, delivery, task)
            if not isinstance(arguments, dict):
                return arguments
            return await _bounded(partial(_answer, callee, arguments, task, threads), task, seconds)
        case runner:
            return await _bounded(partial(runner.run, task, messages_for(delivery, operation)), task, seconds)


async def run_unbounded(
    handler: Handler, callee: HandlerFunction, delivery: Delivery, task: Task, threads: Threads
) -> Outcome:
    """Run a coroutine without a timeout; the operation must be readable. Otherwise like `run`. If the coroutine returns
    a generator, `threads` runs it."""
    arguments = _arguments(handler, callee, delivery, task)
    if type(arguments) is not dict:
        return cast("Outcome", arguments)
    try:
        if armed:
            reached(Point.HANDLER)
        value = await callee.function(**arguments)
        if type(value) not in FINISHED:
            value = await finished(value, task, threads)
        outcome = outcome_of(value, task.notes.max_bytes)
        return outcome if task.notes.ending is None else outcome_of_returned(outcome, task.notes)
    except asyncio.CancelledError as error:
        if (ended := _after_cancel(error, task)) is None:
            raise
        return ended
    except BaseException as error:
        # Border of a task: SystemExit and KeyboardInterrupt of a handler end its task, not the worker.
        return outcome_of_raised(error, task.notes)


def _arguments(handler: Handler, callee: HandlerFunction, delivery: Delivery, task: Task) -> dict[str, Any] | Outcome:
    """The arguments of the call. If the operation's arguments do not fit the handler, returns the task's outcome
    instead."""
    try:
        return _fitting(handler, callee, delivery, task)
    except MisfitError as misfit:
        return _rejected(misfit)
    except BaseException as error:  # border of a task: a validator is the user's code
        return outcome_of_error(error)


def _fitting(handler: Handler, callee: HandlerFunction, delivery: Delivery, task: Task) -> dict[str, Any]:
    """The arguments of the call. Raises MisfitError, and any error of the user's own validators."""
    operation = task.operation
    kwargs = callee.signature.fit(operation.kwargs if operation.name is not None and handler.named else {})
    messages = messages_for(delivery, operation) if callee.signature.messages else []
    return callee.signature.arguments(messages, task, kwargs)


def _rejected(misfit: MisfitError) -> Rejected:
    words = message_of(misfit)
    return Rejected(failure_document("rejected", Failure("BadArguments", words)), words)


async def _answer_inside(
    handler: Handler, callee: HandlerFunction, delivery: Delivery, task: Task, threads: Threads
) -> Outcome:
    """Like `_answer`, inside the middleware. If the arguments do not fit, the middleware sees that error, too."""
    arguments = partial(_fitting, handler, callee, delivery, task)
    try:
        value = await call_inside(callee, arguments, task, threads)
    except MisfitError as misfit:
        return _rejected(misfit)
    return outcome_of(value, task.notes.max_bytes)


async def _answer(callee: HandlerFunction, arguments: dict[str, Any], task: Task, threads: Threads) -> Outcome:
    return outcome_of(await call(callee, arguments, task, threads), task.notes.max_bytes)


async def _bounded(work: Work, task: Task, seconds: float | None) -> Outcome:
    if seconds is None:
        return await _captured(work, task)
    task.deadline = time.monotonic() + seconds
    outcome: Outcome | None = None
    scope = task.limit = anyio.CancelScope(deadline=anyio.current_time() + seconds)
    try:
        with scope:
            outcome = await _captured(work, task)
    except asyncio.CancelledError:
        # If the handler has cancelled the asyncio task as well, a scope does not catch its own cancellation.
        if _is_stopped():
            raise
    except RuntimeError:
        if not copied:  # in a process that the handler has forked there is no loop, and the scope cannot be left
            raise
    # After an order to stop, the handler's answer does not count: without the order it might have given another one.
    if outcome is None or scope.cancel_called:
        return Raised(Failure("TaskTimeout", f"the handler took longer than {seconds:g} s"))
    return outcome


async def _captured(work: Work, task: Task) -> Outcome:
    try:
        return outcome_of_returned(await work(), task.notes)
    except asyncio.CancelledError as error:
        if (outcome := _after_cancel(error, task)) is None:
            raise
        return outcome
    except BaseException as error:
        # Border of a task: SystemExit and KeyboardInterrupt of a handler end its task, not the worker.
        return outcome_of_raised(error, task.notes)


def _is_stopped() -> bool:
    """True if a scope around this delivery is cancelled. A cancel of the asyncio task itself does not count, because
    the handler may have made it."""
    return anyio.current_effective_deadline() == -math.inf


def _after_cancel(error: asyncio.CancelledError, task: Task) -> Outcome | None:
    """The outcome if the handler raised CancelledError although the worker has not stopped it; None if the worker has
    stopped it."""
    if _is_stopped():
        task.notes.cancelled = True
        return None
    current = asyncio.current_task()
    if current is None or not current.cancelling():
        return outcome_of_error(error)
    failure = Failure("asyncio.exceptions.CancelledError", OWN_TASK_CANCELLED, user_traceback(error))
    return Raised(failure)


# The end of a run that `task.sleep` or `task.question` has ended.
#
# `task.sleep` and `task.question` keep the outcome in the notes of the run and raise RunEnded, which has to leave the
# handler. A handler that catches RunEnded and goes on does work that the next run does again.

SWALLOWED = (
    "the handler has caught the RunEnded of task.sleep or task.question and returned: code that catches BaseException, "
    "or returns in a finally, must let it pass"
)


def outcome_of_raised(error: BaseException, notes: RunNotes) -> Outcome:
    """The outcome of a handler that raised `error`. If a task group raised RunEnded together with other errors, the
    other errors count."""
    ended_by = notes.ended_by()
    rest = error if ended_by is None else _without_ending(error)
    return ended_by if ended_by is not None and rest is None else outcome_of_error(rest or error)


def _without_ending(error: BaseException) -> BaseException | None:
    if is_error(error, RunEnded):
        return None
    if not members_of(error):
        return error
    try:
        return cast("BaseExceptionGroup[BaseException]", error).split(RunEnded)[1]
    except BaseException:  # the class of a group is the user's
        return error


def outcome_of_returned(outcome: Outcome, notes: RunNotes) -> Outcome:
    """The outcome of a handler that returned. `outcome` is the outcome of the returned value."""
    ended_by = notes.ended_by()
    if ended_by is None:
        return outcome
    return ended_by if isinstance(ended_by, Raised) else Raised(Failure("RunEndedError", SWALLOWED), final=True)


# Calls a handler of any kind; its last value is the result.

FINISHED = frozenset({str, dict, list, int, float, bool, type(None)})


async def call(callee: HandlerFunction, arguments: dict[str, Any], task: Task, threads: Threads) -> Any:
    """Call the handler; returns its value or raises its exception. Every value of a generator is progress, and its last
    value is the result."""
    reached(Point.HANDLER)
    match callee.kind:
        case FunctionKind.COROUTINE:
            value = await callee.function(**arguments)
        case FunctionKind.ASYNC_GENERATOR:
            value = await _last(callee.function(**arguments), task)
        case FunctionKind.SYNC:
            run = functools.partial(call_sync, callee, arguments, task)
            value = await in_thread(run, task.notes, threads, in_main_thread=callee.options.in_main_thread)
    return await finished(value, task, threads)


async def finished(value: Any, task: Task, threads: Threads) -> Any:
    """The value that a handler returned. If this is an awaitable or a generator, run it and return its value."""
    while type(value) not in FINISHED:
        if inspect.isawaitable(value):
            value = await value
        elif inspect.isasyncgen(value):
            value = await _last(cast("AsyncGenerator[Any, None]", value), task)
        elif inspect.isgenerator(value):
            rest = cast("Generator[Any, None, Any]", value)
            value = await in_thread(functools.partial(_last_sync, rest, task), task.notes, threads)
        else:
            break
    return value


def call_sync(callee: HandlerFunction, arguments: dict[str, Any], task: Task) -> Any:
    """Call a handler that is not async, in this thread; returns its last value."""
    value = callee.function(**arguments)
    return _last_sync(cast("Generator[Any, None, Any]", value), task) if inspect.isgenerator(value) else value


async def _last(values: AsyncGenerator[Any, None], task: Task) -> Any:
    last = None
    async with aclosing(values):
        async for last in values:
            task.show(last)
    return last


def _last_sync(values: Generator[Any, None, Any], task: Task) -> Any:
    """The value that a generator returns; if it returns none, the last value that it yielded. If the handler is
    cancelled, this stops between two values."""
    last = None
    try:
        while not task.notes.cancelled:
            last = next(values)
            task.show(last)
    except StopIteration as end:
        return last if end.value is None else end.value
    values.close()
    return last


# The call of a handler inside its middleware.
#
# Async middleware runs in the delivery's own asyncio task. Plain middleware runs in a thread. If all functions in it
# are plain, they run in the same thread, so that they share objects of a thread (a connection, a transaction).
# If one is async, or the handler needs the main thread, the event loop runs the inside while the thread waits.
#
# Only the first thread of a delivery takes a place of the limiter. A delivery that waited for a second place would keep
# its first one, and several such deliveries would wait for each other without end.

Arguments = Callable[[], dict[str, Any]]


async def call_inside(callee: HandlerFunction, arguments: Arguments, task: Task, threads: Threads) -> Any:
    """Call the handler inside its middleware. Returns the value, or raises the exception, of the outermost middleware.
    `arguments()` makes the handler's arguments for each call; its exception counts as the handler's."""
    surrounded = _Surrounded(callee, arguments, task)
    value = await surrounded.layer(0, threads)
    return await finished(value, task, threads)


@dataclass(frozen=True, slots=True)
class _Surrounded:
    callee: HandlerFunction
    arguments: Arguments
    task: Task

    async def layer(self, index: int, threads: Threads) -> Any:
        """Call the middleware number `index`, with everything inside it. After the last middleware, call the
        handler."""
        around = self.callee.middleware
        if index == len(around):
            return await self._call(threads)
        if around[index].is_async:
            return await around[index].function(self.task, partial(self.layer, index + 1, threads))
        return await in_thread(partial(self._in_thread, index, threads), self.task.notes, threads)

    async def _call(self, threads: Threads) -> Any:
        """Call the handler. Inside plain middleware, this runs in another asyncio task."""
        before, self.task.runner = self.task.runner, asyncio.current_task()
        try:
            return await call(self.callee, self.arguments(), self.task, threads)
        finally:
            self.task.runner = before

    def _in_thread(self, index: int, threads: Threads) -> Any:
        """Call the layer number `index` in a thread."""
        around = self.callee.middleware
        nested = replace(threads, limiter=anyio.CapacityLimiter(math.inf))
        if index == len(around):
            return self._handler_in_thread(nested)
        is_same_thread = self.callee.kind is FunctionKind.SYNC and not self.callee.options.in_main_thread
        is_plain = is_same_thread and not any(each.is_async for each in around[index + 1 :])
        inside = partial(self._in_thread, index + 1, threads) if is_plain else partial(self.layer, index + 1, nested)
        return around[index].function(self.task, inside if is_plain else partial(_on_loop, inside))

    def _handler_in_thread(self, threads: Threads) -> Any:
        value = call_sync(self.callee, self.arguments(), self.task)
        return value if type(value) in FINISHED else _on_loop(partial(finished, value, self.task, threads))


def _on_loop(work: Callable[[], Awaitable[Any]]) -> Any:
    """Run `work` on the event loop while the calling thread waits. A cancellation is raised in the thread as asyncio's
    CancelledError. The class that threads usually get is an Exception, and handlers might catch it."""
    try:
        ended = on_loop(_captured_on_loop, work)
    except concurrent.futures.CancelledError:
        raise asyncio.CancelledError from None
    return ended.result()


async def _captured_on_loop(work: Callable[[], Awaitable[Any]]) -> Ended:
    """Await `work`, and catch what it raises: in an asyncio task, SystemExit would end the event loop."""
    try:
        return Ended(await work())
    except asyncio.CancelledError:
        raise
    except BaseException as error:
        return Ended(error=error)
