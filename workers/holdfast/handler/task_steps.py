"""The steps of one delivery: if a step's result is recorded, it is returned, and the function is not called again.

A step's place is its number among the steps that this run has begun. So a handler must come to its steps in the same
order in each run. If a step of another name is recorded at the place, this is an error. Between two steps a handler may
do anything, but it should decide only by its arguments and by results of steps.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from holdfast.core.steps import (
    MOST_STEPS,
    QUESTION,
    SleepKept,
    StepKept,
    StepRecord,
    StepVerdict,
    flaw_in_name,
    shown,
    with_note,
)
from holdfast.errors import RunEnded, StepError, StepMismatchError
from holdfast.handler.returned_value import NotJsonError, to_json
from holdfast.handler.run_notes import RunNotes
from holdfast.handler.threads import GRACE, Ended, captured
from holdfast.os.kill_points import Point, reached
from holdfast.os.loop_threads import is_thread_of_loop, on_loop

_decode = msgspec.json.Decoder().decode
_inside: ContextVar[str] = ContextVar("holdfast_step", default="")


class StepLog:
    """Reads and records the steps of one delivery. This base class records nothing, and its sleeps end at once; it
    serves if a handler is called without a worker, for example in a test."""

    async def recorded(self) -> dict[int, StepRecord]:
        """The recorded steps of the task, by their places."""
        return {}

    async def keep(self, place: int, name: str, result: bytes) -> StepKept:
        """Record a step. If the verdict is OK, the store has the step."""
        return StepKept(StepVerdict.OK, name)

    async def sleep(self, place: int, name: str, milliseconds: int) -> SleepKept:
        """Record a sleep. If a sleep is already recorded at this place, the answer says how long that sleep still
        lasts."""
        return SleepKept(StepVerdict.OK, name)

    def stuck(self) -> None:
        """Report that the task is stopped but the thread of a step does not end. Without a worker, nobody can end this
        thread."""


class Steps:
    """The steps that one delivery has begun. `notes.max_bytes` bounds a result as JSON. `is_stopped()`: True if the
    task must stop."""

    __slots__ = ("_begun", "_is_stopped", "_loading", "_log", "_notes", "_recorded")

    def __init__(self, log: StepLog, notes: RunNotes, is_stopped: Callable[[], bool]) -> None:
        self._log = log
        self._notes = notes
        self._is_stopped = is_stopped
        self._begun = 0
        self._loading = anyio.Lock()
        self._recorded: dict[int, StepRecord] | None = None

    async def run(self, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The recorded result. If there is none, call `function` and record its result before this returns."""
        place = self._begin(name)
        step = await self.find(place, name)
        if step is not None:
            return _decode(step.result)
        began = time.monotonic()
        value = await self._called(name, function, args, kwargs)
        return await self.keep(place, name, value, partial(_noted, began, function, args, kwargs))

    def run_in_thread(self, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Like `run`, for a handler that runs in a thread."""
        if inspect.iscoroutinefunction(function):
            raise StepError(
                f"step {name!r}: its function is a coroutine function, but task.step_sync calls plain functions only: "
                "make the handler async and use task.step"
            )
        require_handler_thread("step", name)
        place = self._begin(name)
        step = on_loop(self.find, place, name)
        if step is not None:
            return _decode(step.result)
        before, began = _inside.set(name), time.monotonic()
        try:
            value = function(*args, **kwargs)
        finally:
            _inside.reset(before)
        return on_loop(self.keep, place, name, value, partial(_noted, began, function, args, kwargs))

    def _begin(self, name: str) -> int:
        if flaw := flaw_in_name(name):
            raise StepError(flaw)
        return self.begin(name)

    def begin(self, name: str) -> int:
        """Begin a step, sleep, question or answer; returns its place."""
        if self._notes.ended_by() is not None:
            raise RunEnded
        if around := _inside.get():
            raise StepError(
                f"{shown(name)} begins inside of {shown(around)}, but a step cannot contain steps: call the function "
                "there without task.step"
            )
        if self._begun >= MOST_STEPS:
            raise StepError(
                f"{shown(name)} would be step {self._begun + 1}: a task has at most {MOST_STEPS} steps; "
                "do more in one step"
            )
        self._begun += 1
        return self._begun - 1

    def has_come_to(self, at_ms: int) -> bool:
        """True if the store's clock has reached this moment: one of the recorded steps is from this moment or later."""
        return any(step.at_ms >= at_ms for step in (self._recorded or {}).values())

    async def asked_in(self) -> frozenset[int]:
        """The turns in which questions are recorded."""
        return frozenset(step.turn for step in (await self._all()).values() if step.name.startswith(QUESTION))

    async def find(self, place: int, name: str) -> StepRecord | None:
        """The step that is recorded at this place; None if there is none. Raises StepMismatchError if the recorded step
        has another name."""
        step = (await self._all()).get(place)
        if step is not None and step.name != name:
            raise _mismatch(place, name, step.name)
        return step

    async def _all(self) -> dict[int, StepRecord]:
        async with self._loading:
            if self._recorded is None:
                self._recorded = await self._log.recorded()
        return self._recorded

    async def keep(self, place: int, name: str, value: object, noted: Callable[[bytes], bytes] = bytes) -> Any:
        """Record a value; returns it as read back from JSON. `noted` adds a note to the recorded text."""
        encoded = self._encoded(name, value)
        reached(Point.STEP_RAN)
        _require_kept(place, name, await self._log.keep(place, name, noted(encoded)))
        return _decode(encoded)

    async def keep_sleep(self, place: int, name: str, milliseconds: int) -> SleepKept:
        """Record a sleep. Returns the sleep that is recorded at this place, from this run or an earlier one."""
        kept = await self._log.sleep(place, name, milliseconds)
        _require_kept(place, name, kept)
        return kept

    async def _called(self, name: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """Call the function: a coroutine function in the event loop, any other in a thread."""
        before = _inside.set(name)
        try:
            if inspect.iscoroutinefunction(function):
                return await function(*args, **kwargs)
            value = await self._in_thread(partial(function, *args, **kwargs))
            return await value if inspect.isawaitable(value) else value
        finally:
            _inside.reset(before)

    async def _in_thread(self, function: Callable[[], Any]) -> Any:
        """Call a function in a thread. If the task is stopped in the meantime, this waits for the thread, so that the
        caller can still record the result before the handler ends."""
        over, ended = anyio.Event(), list[Ended]()
        try:
            async with anyio.create_task_group() as group:
                group.start_soon(self._watch, over)
                try:
                    ended.append(await anyio.to_thread.run_sync(captured, function))
                finally:
                    over.set()
        except anyio.get_cancelled_exc_class():
            if not ended:
                raise
        return ended[0].result()

    async def _watch(self, over: anyio.Event) -> None:
        """Wait until the thread is over. After a cancellation, report a thread that runs on for GRACE seconds although
        the task is stopped.

        A cancellation may concern only a part of the handler. So this checks every GRACE seconds whether the task is
        stopped.
        """
        try:
            await over.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.CancelScope(shield=True):
                while not over.is_set():
                    is_stopped = self._is_stopped()
                    with anyio.move_on_after(GRACE):
                        await over.wait()
                    if is_stopped and not over.is_set():
                        self._log.stuck()
            raise

    def _encoded(self, name: str, value: object) -> bytes:
        try:
            encoded = to_json(value)
        except NotJsonError as error:
            raise StepError(f"step {name!r}: its result cannot be recorded as JSON: {error}") from error
        if len(encoded) > self._notes.max_bytes:
            raise StepError(
                f"step {name!r}: a result of {len(encoded)} bytes; at most {self._notes.max_bytes} are recorded (see "
                "--max-message-bytes)"
            )
        return encoded


def _noted(began: float, function: Callable[..., Any], args: Any, kwargs: Any, result: bytes) -> bytes:
    """The result of a step with a note: the arguments of its function, and the time since `began`."""
    took_ms = round(1000 * (time.monotonic() - began))
    try:
        arguments = inspect.signature(function).bind(*args, **kwargs).arguments
    except (TypeError, ValueError):  # a function in C may have no signature
        arguments = {str(number): value for number, value in enumerate(args, 1)} | kwargs
    return with_note(result, arguments, took_ms)


def _require_kept(place: int, name: str, kept: StepKept | SleepKept) -> None:
    """Raise StepError unless the store has recorded the step."""
    match kept.verdict:
        case StepVerdict.OK:
            reached(Point.STEP_KEPT)
        case StepVerdict.OTHER:
            raise _mismatch(place, name, kept.name)
        case StepVerdict.FULL:
            raise StepError(
                f"{shown(name)} was not recorded: the steps of a task hold at most 16 MiB together; keep large "
                "results elsewhere and return their names"
            )
        case StepVerdict.LOST:
            raise StepError(
                f"{shown(name)} was not recorded: this worker has lost the task, which has ended or is claimed by "
                "another worker"
            )


def _mismatch(place: int, name: str, recorded: str) -> StepMismatchError:
    return StepMismatchError(
        f"step {place + 1} of this task is recorded as {shown(recorded)}, but the handler has come to {shown(name)}: "
        "each run must come to the same steps in the same order; submit the work as a new task to begin again"
    )


def require_handler_thread(call: str, name: str) -> None:
    """Raise StepError if the caller is not in a thread that an event loop began for a handler. `call`: the name of the
    async call, for example `step`."""
    if not is_thread_of_loop():
        runs = ", which runs a plain function in a thread itself" if call == "step" else ""
        raise StepError(
            f"{shown(name)}: task.{call}_sync works only in the thread of a handler that is a plain function; "
            f"a coroutine awaits task.{call}(…){runs}"
        )
