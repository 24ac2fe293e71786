"""Runs one delivery. Every way in which a handler ends gives an outcome; only cancellation is raised."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, cast

import anyio

from holdfast.core.delivery import Delivery
from holdfast.core.outcomes import Failure, Outcome, Raised, Rejected, UnreadableMessage, failure_document
from holdfast.errors import RunEnded
from holdfast.handler.converters import MisfitError
from holdfast.handler.failures import message_of, outcome_of_error, user_traceback
from holdfast.handler.function import HandlerFunction
from holdfast.handler.handler import Handler
from holdfast.handler.invoke import FINISHED, call, call_inside, finished
from holdfast.handler.returned_value import outcome_of
from holdfast.handler.run_notes import RunNotes
from holdfast.handler.task import Task
from holdfast.handler.threads import GRACE, Threads
from holdfast.handler.turn import messages_for
from holdfast.os.forked_copy import copied
from holdfast.os.kill_points import Point, armed, reached
from holdfast_config.error_text import is_error, members_of

# The end of a run that `task.sleep` or `task.question` has ended.
#
# They keep the outcome in the notes of the run and raise RunEnded. It has to come out of the handler: one that catches
# it and goes on has done work that the next run does again.

SWALLOWED = (
    "the handler has caught the RunEnded of task.sleep or task.question and returned: code that catches BaseException, "
    "or returns in a finally, must let it pass"
)


def outcome_of_raised(error: BaseException, notes: RunNotes) -> Outcome:
    """The outcome of a handler that raised `error`. If a task group raised RunEnded together with other errors, the
    others count."""
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
    """The outcome of a handler that returned; `outcome` is that of its value."""
    ended_by = notes.ended_by()
    if ended_by is None:
        return outcome
    return ended_by if isinstance(ended_by, Raised) else Raised(Failure("RunEndedError", SWALLOWED), final=True)


OWN_TASK_CANCELLED = "the handler's own asyncio task was cancelled, but not by a timeout, a cancel or a drain"

Work = Callable[[], Awaitable[Outcome]]


async def run(
    handler: Handler,
    delivery: Delivery,
    task: Task,
    limiter: anyio.CapacityLimiter,
    task_timeout: float | None,
    *,
    on_stuck: Callable[[], None] = lambda: None,
    thread_grace: float = GRACE,
) -> Outcome:
    """The outcome of `delivery`; `task` is its Task. `task_timeout` (seconds, of its lane or the worker) counts if
    neither delivery nor handler has a timeout. Without any, the producer's usual timeout counts. After a cancel this
    ends when the handler ends: an async handler is interrupted, one in a thread of `limiter` has to check
    `task.cancelled`. `on_stuck` is called, once, if that thread has not ended `thread_grace` seconds after it was
    cancelled or timed out; `run` then still waits for it, for as long as the process lives.
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
            # Retried: while versions change hands, another worker may have it.
            return Raised(Failure("UnknownHandler", handler.absence(operation.name)))
        case HandlerFunction(middleware=(_, *_)) as callee:
            threads = Threads(limiter, on_stuck, thread_grace)
            return await _bounded(partial(_answer_inside, handler, callee, delivery, task, threads), task, seconds)
        case HandlerFunction() as callee:
            arguments = _arguments(handler, callee, delivery, task)
            if not isinstance(arguments, dict):
                return arguments
            threads = Threads(limiter, on_stuck, thread_grace)
            return await _bounded(partial(_answer, callee, arguments, task, threads), task, seconds)
        case runner:
            return await _bounded(partial(runner.run, task, messages_for(delivery, operation)), task, seconds)


async def run_unbounded(
    handler: Handler, callee: HandlerFunction, delivery: Delivery, task: Task, threads: Threads
) -> Outcome:
    """Like `run`, but for a readable operation and a coroutine without a timeout. `threads` runs a returned generator,
    if any."""
    arguments = _arguments(handler, callee, delivery, task)
    if type(arguments) is not dict:
        return cast("Outcome", arguments)
    try:
        if armed:
            reached(Point.HANDLER)
        value = await callee.function(**arguments)
        if type(value) not in FINISHED:
            value = await finished(value, task.notes, threads)
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
    """The arguments of the call; an outcome if those of the operation do not fit."""
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
    return outcome_of(await call(callee, arguments, task.notes, threads), task.notes.max_bytes)


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
        # A scope lets its own cancellation pass where the handler has cancelled the asyncio task as well.
        if _is_stopped():
            raise
    except RuntimeError:
        if not copied:  # else the handler has forked this process: it has no loop, and the scope cannot be left
            raise
    # An answer after the order to stop is not the answer that the handler would have given.
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
    """True if a scope around this delivery is cancelled. The asyncio task itself may be cancelled by its handler."""
    return anyio.current_effective_deadline() == -math.inf


def _after_cancel(error: asyncio.CancelledError, task: Task) -> Outcome | None:
    """The outcome of a handler that was cancelled though nobody has stopped it; None if somebody has."""
    if _is_stopped():
        task.notes.cancelled = True
        return None
    current = asyncio.current_task()
    if current is None or not current.cancelling():
        return outcome_of_error(error)
    failure = Failure("asyncio.exceptions.CancelledError", OWN_TASK_CANCELLED, user_traceback(error))
    return Raised(failure)
