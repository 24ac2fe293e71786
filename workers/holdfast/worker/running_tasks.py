"""The tasks that run in this worker, and the watch over them: no delivery is left running, and each reaches its end.

Deliveries are plain asyncio tasks, because a task of an anyio group costs several times as much to begin. Deliveries
are cancelled only through their cancel scopes: this reaches handlers in threads, and waits for them. The scope is made
at the beginning, because a thread that a handler starts inherits the scope and learns of a cancel through it.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from types import FrameType
from typing import cast

import anyio

from holdfast.core.delivery import Delivery, Holding
from holdfast.core.outcomes import Deferred, Failure, HandlerStopped, Outcome, Raised
from holdfast.core.words import counted
from holdfast.handler.failures import outcome_of_error
from holdfast.handler.run_handler import OWN_TASK_CANCELLED
from holdfast.handler.task import Task
from holdfast.os import stack_file
from holdfast.os.handlers_loop import PLACES, OwnedTask, threads_left
from holdfast.os.stack_file import TaskStack, frames_of
from holdfast.telemetry.port import Span
from holdfast.worker.context import WorkerContext, lease_clock
from holdfast.worker.parent_reports import Recycler
from holdfast_config import library_log
from holdfast_config.error_text import is_error, shown

LOOK = 1.0  # seconds
MOST_LEFT = PLACES // 2  # threads of the default executor that tasks may leave behind in one worker

_CANCELLED = Raised(Failure("asyncio.exceptions.CancelledError", OWN_TASK_CANCELLED))

_log = library_log.get_logger("holdfast.worker")


@dataclass(slots=True)
class RunningTask:
    """A delivery that runs. `earlier`: another turn of the same task, which was stopped; this delivery begins when that
    turn has ended. `ended`: set if a later turn waits for this one. `runner`: its asyncio task, kept here because an
    event loop does not keep its tasks alive. `begun_at` and `called_at` (when its handler was called; 0: not yet) are
    by the clock of the lease. `stopped_by`: the reason for a stop (cancel, pause, drain, lost, another-turn, fenced or
    over); empty if the delivery was not stopped. `waits`: it waits for a place of its handler. `span`: its span, if
    there are traces."""

    task: Task
    scope: anyio.CancelScope
    earlier: RunningTask | None = None
    ended: anyio.Event | None = None
    begun_at: float = 0.0
    stopped_by: str = ""
    waits: bool = False
    called_at: float = 0.0
    runner: OwnedTask | None = None
    span: Span | None = None

    async def await_earlier(self) -> None:
        """Wait until the earlier turn has ended, even if this delivery is stopped in the meantime: two turns of a task
        never run at once."""
        if self.earlier and self.earlier.ended:
            with anyio.CancelScope(shield=True):
                await self.earlier.ended.wait()
            self.earlier = None

    def stop(self, why: str) -> None:
        self.stopped_by = self.stopped_by or why
        self.task.notes.cancelled = True
        self.scope.cancel()

    def stopped(self) -> Outcome:
        """The outcome of a delivery that was stopped and whose handler gave no outcome."""
        return HandlerStopped(self.stopped_by, not self.waits) if self.stopped_by else _CANCELLED


@dataclass(slots=True)
class RunningTasks:
    """The running deliveries of one worker. `by_id`: by task id, in the order in which they began. `end` is called for
    a delivery that was cut off before its end. `is_over`: no delivery may begin any more. `look`: seconds between two
    looks for deliveries that were cut off."""

    context: WorkerContext
    recycler: Recycler
    end: Callable[[Delivery, RunningTask, Outcome | Deferred], None]
    by_id: dict[str, RunningTask] = field(default_factory=dict[str, RunningTask])
    is_over: bool = False
    look: float = LOOK
    _empty: anyio.Event = field(default_factory=anyio.Event)
    _failure: asyncio.Future[None] = field(init=False)

    async def watch(self) -> None:
        """Wait for a delivery that cannot end, and raise its error. When cancelled, stop the handlers and wait for
        their end."""
        loop = asyncio.get_running_loop()
        stack_file.tell(partial(self.stacks, loop))
        self._failure = loop.create_future()
        try:
            while not self._failure.done():
                await asyncio.wait((self._failure,), timeout=self.look)
                self._end_abandoned()
                self._heed_threads_left(loop)
            self._failure.result()
        finally:
            self.is_over = True
            self.stop_all("over")
            with anyio.CancelScope(shield=True):
                while self.by_id:
                    self._empty = anyio.Event()
                    with anyio.move_on_after(self.look):
                        await self._empty.wait()
                    self._end_abandoned()

    def stop(self, task_id: str, claim: str, why: str) -> None:
        """Cancel the handler of this task, if it still runs under this claim."""
        running = self.by_id.get(task_id)
        if running and self.context.exchange.holds(task_id, claim):
            running.stop(why)

    def stop_all(self, why: str) -> None:
        for running in list(self.by_id.values()):
            running.stop(why)

    @property
    def first_begun_at(self) -> float | None:
        """The time at which the longest running task began, by the clock of the lease; None if none runs."""
        first = next(iter(self.by_id.values()), None)
        return None if first is None else first.begun_at

    def notes(self) -> dict[str, Holding]:
        """Progress and checkpoints of running handlers that the store may not have yet."""
        held = self.context.exchange.held
        return {
            task_id: Holding(
                task_id, held[task_id].claim, running.task.notes.progress, running.task.notes.unstored_checkpoint
            )
            for task_id, running in self.by_id.items()
            if task_id in held
        }

    def noted(self, stored: Iterable[Holding]) -> None:
        """Record that the store has these values. Progress and checkpoints are sent again until the store answers, so a
        lost renewal loses no checkpoint."""
        for holding in stored:
            running = self.by_id.get(holding.task_id)
            if running and holding.checkpoint is not None:
                running.task.notes.stored(holding.checkpoint)

    def stacks(self, loop: asyncio.AbstractEventLoop, here: FrameType | None) -> list[TaskStack]:
        """The stack of each running task, followed by the stacks of the asyncio tasks that its handler has started. The
        stacks of the worker itself come last. `here`: the frame that runs now."""
        now, found = lease_clock(), list[tuple[float, bool, TaskStack]]()
        running = {id(each.task.notes): each for each in self.by_id.values()}
        for task in asyncio.all_tasks(loop):
            of, name, frames = running.get(id(getattr(task, "owner", None))), task.get_name(), frames_of(task, here)
            if of is None:
                found.append((math.inf, False, TaskStack("", "", 0.0, name, frames)))
            else:
                started = "" if task is of.runner else name
                stack = TaskStack(of.task.id, of.task.name or "", now - of.begun_at, started, frames)
                found.append((of.begun_at, bool(started), stack))
        return [stack for *_, stack in sorted(found, key=lambda each: (*each[:2], each[2].task_id, each[2].name))]

    def forget(self, task_id: str) -> None:
        """Remove a task that has ended."""
        self.by_id.pop(task_id, None)
        if not self.by_id:
            self._empty.set()

    def fail(self, running: RunningTask, task_id: str, bug: BaseException) -> None:
        """End the worker with this error, like an error in any other part."""
        if self.by_id.get(task_id) is running:
            self.forget(task_id)
        if running.ended:
            running.ended.set()
        if not self._failure.done():
            self._failure.set_exception(_as_failure(bug))

    def _end_abandoned(self) -> None:
        """End deliveries whose asyncio task is over without their end. Example: a handler cancels all asyncio tasks of
        the process, and one of them has not run its first line yet."""
        for task_id, running in list(self.by_id.items()):
            if (earlier := running.earlier) and earlier.ended and earlier.runner and earlier.runner.done():
                earlier.ended.set()
            if running.runner is None or not running.runner.done():
                continue
            delivery = self.context.exchange.held.get(task_id)
            error = None if running.runner.cancelled() else running.runner.exception()
            try:
                _log.error("a delivery was cut off before its end; it has failed", task=task_id, exc_info=error)
                if delivery is None:
                    raise RuntimeError(f"task {task_id} ran, but is not held")
                self.end(delivery, running, outcome_of_error(error) if error else running.stopped())
            except BaseException as bug:
                self.fail(running, task_id, bug)

    def _heed_threads_left(self, loop: asyncio.AbstractEventLoop) -> None:
        """Ask the parent for a successor while some places for threads are still free. A thread that a task left behind
        never frees its place."""
        left = threads_left(loop, {id(each.task.notes) for each in self.by_id.values()})
        if left >= MOST_LEFT:
            self.recycler.ask(f"{counted(left, 'thread')} that tasks have left behind")


def _as_failure(bug: BaseException) -> Exception:
    """The error in a form that a future accepts. A RuntimeError stands for an error that a future refuses, or that
    would stop the event loop."""
    if is_error(bug, Exception) and not is_error(bug, StopIteration):
        return cast("Exception", bug)
    return RuntimeError(f"a delivery ended with {shown(bug)}")
