"""The way of a delivery through this worker: `start`, the call of its handler, its end. Read it from top to bottom.

1. `start` makes the task and an asyncio task, which runs `_deliver`.
2. If the handler is a coroutine without limits, and the delivery has all its messages, the coroutine is called at
   once (`run_unbounded`). A delivery with a timeout, a limit, a thread, parents, an earlier turn or more messages to
   wait for takes all steps (`_run_within_limit`). The outcome does not depend on the way, and in both ways a cancel is
   delivered again and again until the handler obeys it.
3. `_end` makes the report of the outcome, which goes with the next pull.

Whatever is raised on the way, `_end` is reached, or the worker ends: see `RunningTasks`.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import anyio
from msgspec import structs

from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.outcomes import REVOKED, Deferred, HandlerStopped, Outcome, Raised
from holdfast.core.settle import settlement
from holdfast.handler.failures import outcome_of_error
from holdfast.handler.handler import Handler, HandlerFunction
from holdfast.handler.run_handler import run, run_unbounded
from holdfast.handler.run_notes import PartLog
from holdfast.handler.task import Task, become_copy, with_history, with_turn
from holdfast.handler.task_steps import StepLog
from holdfast.handler.threads import Threads
from holdfast.os import forked_copy
from holdfast.os.handlers_loop import OwnedTask
from holdfast.telemetry.port import Telemetry, UnsettledSpans
from holdfast.worker.beside_store import PartSender, StoredSteps
from holdfast.worker.context import WorkerContext, lease_clock
from holdfast.worker.delivery_bounds import DeliveryBounds
from holdfast.worker.output_capture import LogOfCopy, TaskLog, end_of, is_installed, unfinished
from holdfast.worker.parent_reports import Heartbeat, Recycler
from holdfast.worker.running_tasks import RunningTask, RunningTasks
from holdfast.worker.samples import Samples
from holdfast_config import library_log
from holdfast_config.logging import CURRENT

_RELEASE = Settle.RELEASE  # looked up once, because it is compared for each task

_OTHERS = frozenset({"cancel", "lost", "fenced"})  # the task has ended, or another process owns it

_log = library_log.get_logger("holdfast.worker")


@dataclass(slots=True)
class TaskRunner:
    """Runs the deliveries of one worker. `on_end` is called when a delivery has ended. `released` counts the tasks that
    were given back unfinished. `_scopes`: the class of cancel scopes, looked up once, because `anyio.CancelScope` looks
    for the event loop each time."""

    context: WorkerContext
    handler: Handler
    telemetry: Telemetry
    heartbeat: Heartbeat
    recycler: Recycler
    samples: Samples
    on_end: Callable[[], None] = field(default=lambda: None, repr=False)
    released: int = 0
    tasks: RunningTasks = field(init=False)
    task_log: TaskLog = field(init=False)
    parts: PartSender = field(init=False)
    _bounds: DeliveryBounds = field(init=False)
    _threads: Threads = field(init=False)
    _spans: UnsettledSpans | None = None
    _running: dict[str, RunningTask] = field(init=False)
    _loop: asyncio.AbstractEventLoop = field(init=False)
    _scopes: type[anyio.CancelScope] = field(init=False)
    _is_captured: bool = field(init=False)
    _is_quarantine: bool = field(init=False)
    _max_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        settings = self.context.spec.settings
        self.tasks = RunningTasks(self.context, self.recycler, self._end)
        self._running = self.tasks.by_id
        self._threads = Threads(anyio.CapacityLimiter(settings.concurrency), self.context.stuck.set)
        self._bounds = DeliveryBounds(settings, time.monotonic)
        self._scopes = type(anyio.CancelScope())
        self._is_quarantine = self.context.spec.quarantine
        self._max_bytes = settings.max_message_bytes
        self._is_captured = is_installed()
        self.task_log = TaskLog(settings.log_level)
        self.parts = PartSender(self.context)
        if self.telemetry.traces:
            self._spans = UnsettledSpans()
            self.context.on_verdict = self._spans.before(self.context.on_verdict)

    async def serve(self) -> None:
        """Run started tasks; when cancelled, stop the handlers and wait for their end."""
        self._loop = asyncio.get_running_loop()
        with forked_copy.told(self._become_copy, self._loop):
            await self.tasks.watch()

    def _become_copy(self) -> None:
        """Prepare a process that a handler has forked. The process ends when its delivery ends. All tasks and their
        unsent parts stay with the worker."""
        self.task_log = LogOfCopy("")
        for running in self._running.values():
            become_copy(running.task)

    def start(self, delivery: Delivery, now: float) -> None:
        """Begin this delivery, at `now` by the clock of the lease. If the task is a suspect, this first reports it to
        the parent, because a suspect may kill the process at once."""
        self.context.begun.add(delivery.task_id)  # reading it may end this process
        self.recycler.task_begun()
        if self._is_quarantine:
            self.heartbeat.send()
        task = Task(delivery, self._max_bytes)
        task.step_log = self._step_log
        task.part_log = self.parts.of
        earlier = self._running.get(delivery.task_id)
        if earlier:
            earlier.stop("another-turn")
            earlier.ended = anyio.Event()
        else:
            self.context.begun.hide(delivery.task_id)  # handlers that are called before may end this process, too
        running = self._running[delivery.task_id] = RunningTask(task, self._scopes(), earlier, begun_at=now)
        unbounded = None if earlier else self._bounds.unbounded(self.handler, delivery, task)
        running.runner = task.runner = OwnedTask(self._deliver(delivery, running, unbounded), loop=self._loop)
        running.runner.owner = task.notes

    def _step_log(self, delivery: Delivery) -> StepLog:
        return StoredSteps(self.context, delivery, lambda claim: self.tasks.stop(delivery.task_id, claim, "lost"))

    async def _deliver(self, delivery: Delivery, running: RunningTask, unbounded: HandlerFunction | None) -> None:
        """Run the delivery and end it. `_end` is called whatever is raised here. If `_end` cannot be called,
        `RunningTasks` ends the worker, or finds the delivery without an end."""
        outcome: Outcome | Deferred | None = None
        try:
            try:
                now = lease_clock()
                outcome = None if self._begins(delivery, now) else REVOKED
                if self._is_captured:
                    CURRENT.set(running.task)
                if running.earlier is not None:
                    await running.await_earlier()
                with running.scope:
                    if unbounded is None or outcome is not None:
                        outcome = outcome or await self._run_within_limit(delivery, running)
                    else:  # the handler needs no place, time limit or earlier messages
                        running.called_at = now
                        self.task_log.started(running.task)
                        called = run_unbounded(self.handler, unbounded, delivery, running.task, self._threads)
                        outcome = await (
                            called if self._spans is None else self._run_in_span(delivery, running, called)
                        )
            except BaseException as error:
                # Border of a task: no error may keep the slot, or end the other deliveries.
                outcome = None if running.stopped_by else _escaped(error, delivery, outcome)
            progress = "" if running.task.parts is None else await _whole(running.task.parts)
            if unfinished:
                end_of(running.task)
            self._end(delivery, running, outcome or running.stopped(), progress)
        except BaseException as bug:
            self.tasks.fail(running, delivery.task_id, bug)

    def _begins(self, delivery: Delivery, now: float) -> bool:
        """Record that the delivery begins. Returns False if another worker may have begun the task: the claim was
        revoked, or this process stood still until its lease had ended."""
        begun = self.context.begun
        begun.add(delivery.task_id)
        if begun.is_revoked(delivery.claim) or not self.context.state.lease.holds(now):
            begun.hide(delivery.task_id)
            return False
        return True

    async def _run_within_limit(self, delivery: Delivery, running: RunningTask) -> Outcome | Deferred:
        """Run the delivery if its handler has a free place. Otherwise wait for a place, or defer the task."""
        if delivery.earlier or delivery.has_steps:
            delivery = await with_turn(delivery, running.task, self._read_earlier)
        name = running.task.operation.name
        limit = self._bounds.limit_of(name, self.handler.options(name))
        if limit is None:
            return await self._run(delivery, running)
        if limit.is_full:
            running.waits = True
            self.context.begun.hide(delivery.task_id)
            if not self._bounds.limits.may_wait():
                return Deferred(limit.seconds_to_turn())
        async with self._bounds.limits.enter(limit):
            running.waits = False
            return await self._run(delivery, running) if self._begins(delivery, lease_clock()) else REVOKED

    async def _run(self, delivery: Delivery, running: RunningTask) -> Outcome:
        if delivery.earlier:
            delivery = await with_history(delivery, running.task, self._read_earlier)
        if delivery.is_child:
            read = partial(self.context.store.results_of_parents, delivery.task_id)
            running.task.parents = await self.context.retries.call("parents", read)
        self.task_log.started(running.task)
        timeout = self._bounds.timeout_of(delivery.lane)
        running.called_at = lease_clock()
        called = run(self.handler, delivery, running.task, self._threads, timeout)
        return await (called if self._spans is None else self._run_in_span(delivery, running, called))

    async def _read_earlier(self, task_id: str, before: int) -> tuple[tuple[bytes, ...], int]:
        return await self.context.retries.call("earlier", partial(self.context.store.earlier, task_id, before))

    async def _run_in_span(
        self, delivery: Delivery, running: RunningTask, called: Coroutine[Any, Any, Outcome]
    ) -> Outcome:
        name = running.task.operation.name if self.handler.named else None
        running.span = self.telemetry.delivery(delivery, running.task, name or self.handler.target)
        with running.span.inside():
            return await called

    def _end(self, delivery: Delivery, running: RunningTask, outcome: Outcome | Deferred, progress: str = "") -> None:
        """Report the outcome with the next pull, and free the place. `progress`: the last progress, if it was not
        sent."""
        is_latest = self._running[delivery.task_id] is running
        if not is_latest:  # a later turn was claimed since, and this outcome must not count for it
            outcome = HandlerStopped(running.stopped_by)
        elif isinstance(outcome, Raised) and running.stopped_by in _OTHERS:
            outcome = HandlerStopped(running.stopped_by)  # for example, a step could not be recorded any more
        checkpoint = running.task.notes.checkpoint
        bounds = self._bounds
        policy = (
            bounds.retry_policy_of(self.handler, running.task) if isinstance(outcome, Raised) else bounds.retry_policy
        )
        report = settlement(outcome, delivery, policy, random.random(), checkpoint)
        self.task_log.ended(running.task, outcome, report)
        if report and report.kind is _RELEASE:
            self.released += 1
        now = lease_clock()
        if report and running.called_at:
            seconds = now - running.called_at
            self.samples.add(delivery, running.task.operation.name, report, seconds, running.span)
        reported = self._finish(delivery.task_id, report, progress) if is_latest else None
        if self._spans is not None and running.span is not None and not isinstance(outcome, Deferred):
            running.span.ended(outcome, report)
            self._spans.add(reported, running.span)
        if running.ended:
            running.ended.set()
        if not isinstance(outcome, Deferred):
            self._count()
        self.context.state.durations.note(now - running.begun_at)
        self.on_end()

    def _finish(self, task_id: str, report: Settlement | None, progress: str) -> Settlement | None:
        """End this task. Returns the settlement to report; None if nothing is reported."""
        if progress and report:
            report = structs.replace(report, progress=progress)
        self.tasks.forget(task_id)
        reported = self.context.exchange.finish(task_id, report)
        if reported is None:
            self.context.begun.remove(task_id)
        else:
            self.context.begun.end(task_id, reported.claim)
        return reported

    def _count(self) -> None:
        self.recycler.task_ended()
        if self.context.state.use.done == 1:
            self.heartbeat.send()  # tells the parent that this worker is no boot failure, even if it dies soon


def _escaped(error: BaseException, delivery: Delivery, outcome: Outcome | Deferred | None) -> Outcome | Deferred | None:
    if forked_copy.copied:  # without an event loop the scope cannot be left: the handler's outcome counts
        return outcome
    _log.error("an error ended a delivery outside of its handler", task=delivery.task_id, exc_info=error)
    return outcome_of_error(error)


async def _whole(parts: PartLog) -> str:
    """Send the last parts. Returns the last progress, if it was not sent. An asyncio task that the handler has left
    behind may cancel this asyncio task. Such a cancel is ignored, because the handler has ended."""
    while True:
        try:
            await parts.end()
            return parts.unsent_progress
        except asyncio.CancelledError:
            continue
