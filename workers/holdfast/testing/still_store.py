"""A store in memory for one test. Its clock stands still until the test moves it.

The store notes every submitted task. A test finds these tasks by their handler and arguments.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import anyio

from holdfast.core.acceptance import Accepted, Receipt, Submission
from holdfast.core.envelope import Run, read
from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import FireAnswer, FireOrder
from holdfast.handler.registered_handler import RegisteredHandler
from holdfast.handler.returned_value import to_plain
from holdfast.store.current_store import worker_store
from holdfast.store.memory import MemoryStore

MOST_SHOWN = 20
UNBOUNDED = 1 << 62

HandlerOrName = RegisteredHandler[..., Any, ..., Any, Any] | str


@dataclass(frozen=True, slots=True)
class SubmittedTask:
    """A submitted task, or a further message for a task. `parameters`: the arguments of the handler `name`. Without a
    name, `parameters` has the message's `text` and `data`. `delay` is in seconds. `lane`: the lane in which it
    waits."""

    task_id: str
    name: str
    parameters: Mapping[str, Any]
    lane: str
    delay: float | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def __str__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        later = "" if self.delay is None else f" after {self.delay:g} s"
        return f"{self.name or 'default'}({given}) in {self.lane}{later}, task {self.task_id}"


def submitted_task(submission: Submission, now_ms: int) -> SubmittedTask:
    """The task of a submission that was accepted at `now_ms`."""
    operation = read(submission.operation, UNBOUNDED)
    assert isinstance(operation, Run)
    delay_ms = submission.delay_ms if submission.due_ms is None else submission.due_ms - now_ms
    return SubmittedTask(
        submission.task_id,
        operation.name or "",
        dict(operation.kwargs) if operation.name else _content(operation),
        submission.lane,
        None if delay_ms is None else delay_ms / 1000,
        operation.metadata,
    )


def _content(operation: Run) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for message in operation.messages:
        for part in message["parts"]:
            found[part["kind"]] = part[part["kind"]]
    return found


@dataclass(frozen=True, slots=True)
class ExpectedTask:
    """A condition for submitted tasks: the handler's name (None: any handler) and some of the arguments."""

    name: str | None
    parameters: Mapping[str, Any]

    @classmethod
    def of(cls, handler: object, parameters: Mapping[str, object]) -> ExpectedTask:
        """The condition for a registered handler, a name or None. Raises TypeError if `handler` is none of these, or if
        the handler lacks one of the parameters."""
        match handler:
            case None | str():
                name = handler
            case RegisteredHandler(name=name, function=function):
                _check_parameters(name, function, parameters)
            case _:
                raise TypeError(f"{handler!r}: a registered handler or the name of one is expected")
        return cls(name, {key: to_plain(value) for key, value in parameters.items()})

    def fits(self, task: SubmittedTask) -> bool:
        """True if the task is of this handler and has at least these arguments."""
        if self.name is not None and task.name != self.name:
            return False
        return all(key in task.parameters and task.parameters[key] == value for key, value in self.parameters.items())

    def __str__(self) -> str:
        given = ", ".join(f"{key}={value!r}" for key, value in self.parameters.items())
        return f"{self.name or 'any handler'}({given})"


def _check_parameters(name: str, function: Callable[..., Any], parameters: Mapping[str, object]) -> None:
    known = inspect.signature(function).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in known):
        return
    names = [each.name for each in known]
    if strange := [each for each in parameters if each not in names]:
        raise TypeError(f"{name} has no parameter {strange[0]!r}; it has {', '.join(names) or 'none'}")


def listed(tasks: Iterable[SubmittedTask]) -> str:
    """The submitted tasks as lines, for the text of a failed assertion."""
    lines = [f"  {task}" for task in tasks]
    if not lines:
        return "nothing was submitted"
    more = [f"  and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
    return "\n".join([f"submitted, {len(lines)} in all:", *lines[:MOST_SHOWN], *more])


TIME = "time of the test"  # a key in the store, outside the queue's namespace
# Replaces the part `clock` that the Lua scripts share: that part asks the server for the time.
CLOCK = f"local NOW = tonumber(redis.call('GET', '{TIME}'))"

MADE = frozenset({Accepted.NEW, Accepted.TURN, Accepted.PENDING})

Look = Callable[[Sequence[str]], Awaitable[None]]


def _tell_nobody() -> None:
    """Do nothing: the function that is called after a submit outside of a `telling` block."""


class StillStore(MemoryStore):
    """The store of a test, in memory. `run`: runs the tasks; it is called before a wait for tasks, because no worker
    runs beside the test. `check`: raises for tasks that have not ended after `run`, because the caller would wait for
    ever. `submitted`: the accepted tasks of producers and schedules, in order."""

    def __init__(self, queue: str, now_ms: int, run: Callable[[], Awaitable[None]], check: Look) -> None:
        super().__init__(queue, {"clock": CLOCK}, most_waiting=sys.maxsize)
        self.submitted: list[SubmittedTask] = []
        self._tell = _tell_nobody
        self._run_tasks, self._check_ended = run, check
        self.set_clock(now_ms)

    @property
    def now_ms(self) -> int:
        """The store's time in Unix milliseconds."""
        return self._now_ms

    def set_clock(self, now_ms: int) -> None:
        """Move the store's time to this moment."""
        self._now_ms = now_ms
        self.engine.look("SET", TIME, now_ms)

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        answers = await super().submit(submissions)
        self._note_submitted(one for one, answer in zip(submissions, answers, strict=True) if answer in MADE)
        return answers

    async def submit_with_options(self, submissions: Sequence[Submission]) -> list[Receipt]:
        receipts = await super().submit_with_options(submissions)
        answered = zip(submissions, receipts, strict=True)
        self._note_submitted(one for one, receipt in answered if receipt.accepted in MADE)
        return receipts

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[FireAnswer]:
        answers = await super().fire(orders, scope)
        for order, answer in zip(orders, answers, strict=True):
            if answer == FireAnswer.FIRED:
                self._note_submitted(fire.task for fire in order.fires)
        return answers

    @contextmanager
    def telling(self, submitted: Callable[[], None]) -> Generator[None]:
        """A context manager: while its block runs, `tell` is called after each submission."""
        self._tell = submitted
        try:
            yield
        finally:
            self._tell = _tell_nobody

    def _note_submitted(self, accepted: Iterable[Submission]) -> None:
        self.submitted += [submitted_task(one, self.now_ms) for one in accepted]
        self._tell()

    def settled(self, task_ids: Sequence[str]) -> AsyncIterator[str]:
        """Notices of ended tasks. Outside of a handler this first runs the tasks, because no worker would."""
        return super().settled(task_ids) if worker_store() else self._after_run(task_ids)

    def emitted(self, task_id: str) -> AsyncGenerator[str]:
        """Notices of parts that a task emits, and of its end. Outside of a handler this first runs the tasks, so the
        notices come after the run."""
        return super().emitted(task_id) if worker_store() else self._after_run([task_id])

    async def _after_run(self, task_ids: Sequence[str]) -> AsyncGenerator[str]:
        yield ""  # the caller then reads its tasks, which may have ended before
        with anyio.CancelScope(shield=True):  # the caller stops waiting after seconds; a run may take longer
            await self._run_tasks()
        yield ""
        await self._check_ended(task_ids)
