"""Runs the deliveries that this worker holds, each in a scope of its own; outcomes go with the next pull.

There are two ways, side by side here. A coroutine that nothing bounds, of a delivery that has all its messages, runs in
few steps (`run_unbounded`). A delivery that has a timeout, a limit, a thread, parents, an earlier turn or more messages
to wait for takes all of them (`_run_within_limit`). In both ways a handler that ends in the same manner has the same
outcome, and a cancel is delivered again and again until it is obeyed.

Deliveries are plain asyncio tasks, as one of an anyio group costs several times as much to begin. But they are only
cancelled through their scopes, the last ones too: that reaches handlers in threads, and waits for them. The scope is
there from the beginning, as a thread that a handler starts takes it along, to be told of a cancel; its class is looked
up once, as `anyio.CancelScope` finds out about the event loop each time.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Coroutine, Iterable, KeysView
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, cast

import anyio
import structlog
from msgspec import structs

from holdfast.core.delivery import Delivery, Holding, Settle, Settlement
from holdfast.core.outcomes import REVOKED, Deferred, Failure, HandlerStopped, Outcome, Raised
from holdfast.core.settle import RetryPolicy, settlement
from holdfast.core.words import counted
from holdfast.handler.emitted import PartLog
from holdfast.handler.failures import outcome_of_error
from holdfast.handler.function import HandlerFunction, HandlerOptions
from holdfast.handler.handler import Handler
from holdfast.handler.run import OWN_TASK_CANCELLED, run, run_unbounded
from holdfast.handler.steps import StepLog
from holdfast.handler.task import Task, become_copy
from holdfast.handler.threads import Threads
from holdfast.handler.turn import is_whole, lacks_messages, turn_before
from holdfast.os import forked_copy
from holdfast.os.handlers_loop import PLACES, OwnedTask, threads_left
from holdfast.store.results_of_parents import results_of_parents
from holdfast.telemetry.port import Span, Telemetry
from holdfast.worker.beside_store import PartSender, StoredSteps
from holdfast.worker.context import WorkerContext, lease_clock
from holdfast.worker.handler_limits import HandlerLimits
from holdfast.worker.output_capture import LogOfCopy, TaskLog, end_of, is_installed, unfinished
from holdfast.worker.recycler import Heartbeat, Recycler
from holdfast.worker.samples import Samples
from holdfast.worker.unsettled_spans import UnsettledSpans
from holdfast_config.error_text import is_error, shown
from holdfast_config.logging import CURRENT

_RELEASE = Settle.RELEASE  # looked up once, as it is compared for each task

MAIN_THREAD = ""  # the limit of all handlers that need the main thread; no handler has this name

LOOK = 1.0  # seconds
MOST_LEFT = PLACES // 2  # threads of the default executor that tasks may leave behind in one worker

_CANCELLED = Raised(Failure("asyncio.exceptions.CancelledError", OWN_TASK_CANCELLED))

_OTHERS = frozenset({"cancel", "lost", "fenced"})  # of a task that has ended, or that another process owns

_log = structlog.get_logger("holdfast.worker")


@dataclass(slots=True)
class RunningTask:
    """`earlier`: another turn of the same task, which is stopped; this one begins when that has ended. `ended` is
    there where a later turn waits for it. `runner` is kept as the event loop keeps no task alive.

    `begun_at`, and when its handler was called (`called_at`; 0: not yet): by the clock of the lease.
    `stopped_by`: cancel, pause, drain, lost, another-turn, fenced or over; empty while nothing has stopped it. `waits`:
    for a place of its handler, it has not begun. `span`: its trace's, where there are traces.
    """

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
        """Wait until the earlier turn has ended, even if this one is stopped before: never two at once."""
        if self.earlier and self.earlier.ended:
            with anyio.CancelScope(shield=True):
                await self.earlier.ended.wait()
            self.earlier = None

    def stop(self, why: str) -> None:
        self.stopped_by = self.stopped_by or why
        self.task.notes.cancelled = True
        self.scope.cancel()


@dataclass(slots=True)
class RunningTasks:
    """`on_end` is called when one has ended. `released` counts the tasks given back unfinished. `is_over`: nothing is
    to begin any more. `look`: seconds between two looks for deliveries that were cut off."""

    context: WorkerContext
    handler: Handler
    telemetry: Telemetry
    heartbeat: Heartbeat
    recycler: Recycler
    samples: Samples
    on_end: Callable[[], None] = field(default=lambda: None, repr=False)
    released: int = 0
    is_over: bool = False
    look: float = LOOK
    task_log: TaskLog = field(init=False)
    parts: PartSender = field(init=False)
    _running: dict[str, RunningTask] = field(default_factory=dict[str, RunningTask])
    _empty: anyio.Event = field(default_factory=anyio.Event)
    _loop: asyncio.AbstractEventLoop = field(init=False)
    _failure: asyncio.Future[None] = field(init=False)
    _timeouts: dict[str, float | None] = field(default_factory=dict[str, "float | None"])
    _threads: Threads = field(init=False)
    _scopes: type[anyio.CancelScope] = field(init=False)
    _is_captured: bool = field(init=False)
    _spans: UnsettledSpans | None = None
    _is_quarantine: bool = field(init=False)
    _max_bytes: int = field(init=False)
    _retry_policy: RetryPolicy = field(init=False)
    _limits: HandlerLimits = field(init=False)

    def __post_init__(self) -> None:
        settings = self.context.spec.settings
        self._threads = Threads(anyio.CapacityLimiter(settings.concurrency), self.context.stuck.set)
        self._scopes = type(anyio.CancelScope())
        self._is_quarantine = self.context.spec.quarantine
        self._max_bytes = settings.max_message_bytes
        self._is_captured = is_installed()
        self.task_log = TaskLog(settings.log_level)
        self.parts = PartSender(self.context)
        if self.telemetry.traces:
            self._spans = UnsettledSpans()
            self.context.on_verdict = self._spans.before(self.context.on_verdict)
        self._limits = HandlerLimits(settings.concurrency, time.monotonic)
        self._retry_policy = RetryPolicy(settings.max_attempts, settings.retry_base, settings.retry_cap)

    async def serve(self) -> None:
        """Run what is started; when cancelled, stop the handlers and wait for their end."""
        self._loop = asyncio.get_running_loop()
        self._failure = self._loop.create_future()
        try:
            with forked_copy.told(self._become_copy, self._loop):
                while not self._failure.done():
                    await asyncio.wait((self._failure,), timeout=self.look)
                    self._end_abandoned()
                    self._heed_threads_left()
                self._failure.result()
        finally:
            self.is_over = True
            self.stop_all("over")
            with anyio.CancelScope(shield=True):
                while self._running:
                    self._empty = anyio.Event()
                    with anyio.move_on_after(self.look):
                        await self._empty.wait()
                    self._end_abandoned()

    def _become_copy(self) -> None:
        """In a process that a handler has forked: the end of a delivery ends the process, and its tasks are the
        worker's, to which their parts are left."""
        self.task_log = LogOfCopy("")
        for running in self._running.values():
            become_copy(running.task)

    def start(self, delivery: Delivery, now: float) -> None:
        """Begin this delivery, at `now` by the clock of the lease. The parent knows of a suspect first: it may end this
        process at once."""
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
            self.context.begun.hide(delivery.task_id)  # others are called before: they may end this process, too
        running = self._running[delivery.task_id] = RunningTask(task, self._scopes(), earlier, begun_at=now)
        unbounded = None if earlier else self._unbounded(delivery, task)
        running.runner = task.runner = OwnedTask(self._deliver(delivery, running, unbounded), loop=self._loop)
        running.runner.owner = task.notes

    def _step_log(self, delivery: Delivery) -> StepLog:
        return StoredSteps(self.context, delivery, lambda claim: self.stop(delivery.task_id, claim, "lost"))

    def stop(self, task_id: str, claim: str, why: str) -> None:
        """Cancel this handler, if it still runs under this claim."""
        running = self._running.get(task_id)
        if running and self.context.exchange.holds(task_id, claim):
            running.stop(why)

    def stop_all(self, why: str) -> None:
        for running in list(self._running.values()):
            running.stop(why)

    @property
    def ids(self) -> KeysView[str]:
        return self._running.keys()

    @property
    def first_begun_at(self) -> float | None:
        """By the clock of the lease, of the task that has run longest; None where none runs."""
        first = next(iter(self._running.values()), None)
        return None if first is None else first.begun_at

    def notes(self) -> dict[str, Holding]:
        """Progress and checkpoints of running handlers that the store may not know."""
        held = self.context.exchange.held
        return {
            task_id: Holding(
                task_id, held[task_id].claim, running.task.notes.progress, running.task.notes.unstored_checkpoint
            )
            for task_id, running in self._running.items()
            if task_id in held
        }

    def noted(self, stored: Iterable[Holding]) -> None:
        """The store has these. Until it answers they are sent again: a lost renewal loses no checkpoint."""
        for holding in stored:
            running = self._running.get(holding.task_id)
            if running and holding.checkpoint is not None:
                running.task.notes.stored(holding.checkpoint)

    async def _deliver(self, delivery: Delivery, running: RunningTask, unbounded: HandlerFunction | None) -> None:
        """Run it and end it. Whatever is raised here, and wherever, the end is not left undone: it is reached, or
        `_fail` ends the worker, or `_end_abandoned` finds that it is missing."""
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
                    else:  # at once, without a place, a time limit or earlier messages
                        running.called_at = now
                        self.task_log.started(running.task)
                        called = run_unbounded(self.handler, unbounded, delivery, running.task, self._threads)
                        outcome = await (
                            called if self._spans is None else self._run_in_span(delivery, running, called)
                        )
            except BaseException as error:
                # Border of a task: no error may keep the slot, or end the other deliveries.
                outcome = None if running.stopped_by else _escaped(error, delivery, outcome)
            if running.task.parts is not None:
                await _whole(running.task.parts)
            if unfinished:
                end_of(running.task)
            self._end(delivery, running, outcome or _stopped(running))
        except BaseException as bug:
            self._fail(running, delivery.task_id, bug)

    def _begins(self, delivery: Delivery, now: float) -> bool:
        """Note that it begins; False if it may have begun elsewhere: its claim was revoked, or this process stood still
        past the end of its lease."""
        begun = self.context.begun
        begun.add(delivery.task_id)
        if begun.is_revoked(delivery.claim) or not self.context.state.lease.holds(now):
            begun.hide(delivery.task_id)
            return False
        return True

    def _fail(self, running: RunningTask, task_id: str, bug: BaseException) -> None:
        """End the worker, as the error of every other part does."""
        if self._running.get(task_id) is running:
            self._forget(task_id)
        if running.ended:
            running.ended.set()
        if not self._failure.done():
            self._failure.set_exception(_as_failure(bug))

    def _forget(self, task_id: str) -> None:
        self._running.pop(task_id, None)
        if not self._running:
            self._empty.set()

    def _end_abandoned(self) -> None:
        """End the deliveries whose asyncio task is over without their end. One that is cancelled before its first step,
        by a handler that cancels all asyncio tasks, runs no line of `_deliver`."""
        for task_id, running in list(self._running.items()):
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
                self._end(delivery, running, outcome_of_error(error) if error else _stopped(running))
            except BaseException as bug:
                self._fail(running, task_id, bug)

    def _heed_threads_left(self) -> None:
        """Ask for a successor while there are places for threads yet: those that are left behind do not come back."""
        left = threads_left(self._loop, {id(each.task.notes) for each in self._running.values()})
        if left >= MOST_LEFT:
            self.recycler.ask(f"{counted(left, 'thread')} that tasks have left behind")

    def _unbounded(self, delivery: Delivery, task: Task) -> HandlerFunction | None:
        """The handler of this delivery, if it is a coroutine that nothing bounds and nothing is to be waited for."""
        is_plain = not (task.unreadable or delivery.has_steps)
        if not is_plain or delivery.earlier or delivery.is_child or delivery.timeout_ms is not None:
            return None
        function = self.handler.choose(task.operation.name)
        if type(function) is not HandlerFunction or not function.is_unbounded:
            return None
        usual = self._timeout_of(delivery.lane) or task.operation.usual_timeout
        return function if usual is None else None

    def _timeout_of(self, lane: str) -> float | None:
        if lane not in self._timeouts:
            self._timeouts[lane] = self.context.spec.settings.timeout_of(lane)
        return self._timeouts[lane]

    async def _run_within_limit(self, delivery: Delivery, running: RunningTask) -> Outcome | Deferred:
        """Run it if its handler has a place; else wait for one, or defer the task."""
        while not running.task.unreadable and not is_whole(delivery):
            delivery = await self._with_more(delivery)
            running.task.take(delivery)
        if delivery.has_steps and not running.task.unreadable:
            delivery = await self._as_asked(delivery, running.task)
        name, options = running.task.operation.name, self._options(running)
        if name is None or options.places is None:
            return await self._run(delivery, running)
        limit = self._limits.of(MAIN_THREAD if options.in_main_thread else name, options.places)
        if limit.is_full:
            running.waits = True
            self.context.begun.hide(delivery.task_id)
            if not self._limits.may_wait():
                return Deferred(limit.seconds_to_turn())
        async with self._limits.enter(limit):
            running.waits = False
            return await self._run(delivery, running) if self._begins(delivery, lease_clock()) else REVOKED

    def _options(self, running: RunningTask) -> HandlerOptions:
        return self.handler.options(running.task.operation.name)

    def _retry_policy_of(self, running: RunningTask) -> RetryPolicy:
        policy, attempts = self._retry_policy, self._options(running).max_attempts
        if (base := running.task.operation.retry_backoff) is not None:
            policy = replace(policy, base=base, cap=max(policy.cap, base))
        return replace(policy, max_attempts=attempts) if attempts else policy

    async def _run(self, delivery: Delivery, running: RunningTask) -> Outcome:
        delivery = await self._with_history(delivery, running.task)
        if delivery.is_child:
            read = partial(results_of_parents, self.context.store, delivery.task_id)
            running.task.parents = await self.context.retries.call("parents", read)
        self.task_log.started(running.task)
        timeout = self._timeout_of(delivery.lane)
        running.called_at = lease_clock()
        called = run(
            self.handler, delivery, running.task, self._threads.limiter, timeout, on_stuck=self.context.stuck.set
        )
        return await (called if self._spans is None else self._run_in_span(delivery, running, called))

    async def _run_in_span(
        self, delivery: Delivery, running: RunningTask, called: Coroutine[Any, Any, Outcome]
    ) -> Outcome:
        name = running.task.operation.name if self.handler.named else None
        running.span = self.telemetry.delivery(delivery, running.task, name or self.handler.target)
        with running.span.inside():
            return await called

    async def _with_history(self, delivery: Delivery, task: Task) -> Delivery:
        """The delivery with all earlier messages that the operation asks for: a pull carries only so many bytes."""
        while not task.unreadable and lacks_messages(delivery, task.operation):
            delivery = await self._with_more(delivery)
        return delivery

    async def _as_asked(self, delivery: Delivery, task: Task) -> Delivery:
        """The delivery as it was in the turn whose handler goes on in this one: the first of a row of questions."""
        asked_in = await task.asked_in()
        asked = turn_before(delivery, asked_in)
        while asked is not None:
            while not is_whole(asked):
                asked = await self._with_more(asked)
            delivery = asked
            task.go_on(delivery)
            asked = turn_before(delivery, asked_in)
        return delivery

    async def _with_more(self, delivery: Delivery) -> Delivery:
        read = partial(self.context.store.earlier, delivery.task_id, delivery.earlier)
        found, earlier = await self.context.retries.call("earlier", read)
        return structs.replace(delivery, history=(*found, *delivery.history), earlier=earlier)

    def _end(self, delivery: Delivery, running: RunningTask, outcome: Outcome | Deferred) -> None:
        is_latest = self._running[delivery.task_id] is running
        if not is_latest:  # its outcome is not that of the turn that was claimed since
            outcome = HandlerStopped(running.stopped_by)
        elif isinstance(outcome, Raised) and running.stopped_by in _OTHERS:
            outcome = HandlerStopped(running.stopped_by)  # as by a step that could not be recorded any more
        checkpoint = running.task.notes.checkpoint
        policy = self._retry_policy_of(running) if isinstance(outcome, Raised) else self._retry_policy
        report = settlement(outcome, delivery, policy, random.random(), checkpoint)
        self.task_log.ended(running.task, outcome, report)
        if report and report.kind is _RELEASE:
            self.released += 1
        now = lease_clock()
        if report and running.called_at:
            seconds = now - running.called_at
            self.samples.add(delivery, running.task.operation.name, report, seconds, running.span)
        reported = self._finish(delivery.task_id, report) if is_latest else None
        if self._spans is not None and running.span is not None and not isinstance(outcome, Deferred):
            running.span.ended(outcome, report)
            self._spans.add(reported, running.span)
        if running.ended:
            running.ended.set()
        if not isinstance(outcome, Deferred):
            self._count()
        self.context.state.durations.note(now - running.begun_at)
        self.on_end()

    def _finish(self, task_id: str, report: Settlement | None) -> Settlement | None:
        """The end of this task as it is on its way to the store; None if nothing is reported."""
        self._forget(task_id)
        reported = self.context.exchange.finish(task_id, report)
        if reported is None:
            self.context.begun.remove(task_id)
        else:
            self.context.begun.end(task_id, reported.claim)
        return reported

    def _count(self) -> None:
        self.recycler.task_ended()
        if self.context.state.use.done == 1:
            self.heartbeat.send()  # a worker that has settled something is no boot failure, however soon it dies


def _escaped(error: BaseException, delivery: Delivery, outcome: Outcome | Deferred | None) -> Outcome | Deferred | None:
    if forked_copy.copied:  # without an event loop the scope cannot be left: what came of the handler counts
        return outcome
    _log.error("an error ended a delivery outside of its handler", task=delivery.task_id, exc_info=error)
    return outcome_of_error(error)


async def _whole(parts: PartLog) -> None:
    """Send the last parts. What the handler has left behind may cancel the asyncio task once more: it has ended."""
    while True:
        try:
            return await parts.end()
        except asyncio.CancelledError:
            continue


def _stopped(running: RunningTask) -> Outcome:
    """The outcome of a delivery that has none of its own."""
    return HandlerStopped(running.stopped_by, not running.waits) if running.stopped_by else _CANCELLED


def _as_failure(bug: BaseException) -> Exception:
    """The same, if a future takes it and it is no order to the event loop."""
    if is_error(bug, Exception) and not is_error(bug, StopIteration):
        return cast("Exception", bug)
    return RuntimeError(f"a delivery ended with {shown(bug)}")
