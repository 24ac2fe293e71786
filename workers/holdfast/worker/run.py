"""The deliveries in hand: each runs in a scope of its own, and what came of it is left for the next request.

They are tasks of an asyncio group, as one of anyio's costs several times as much to begin. But they are only ever
cancelled through their scopes, the last ones too: that reaches handlers in threads, and waits for them.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import anyio
import structlog

from holdfast.core.delivery import Delivery, Holding, Settle
from holdfast.core.outcomes import Deferred, HandlerStopped, Outcome
from holdfast.core.retry import RetryPolicy
from holdfast.core.settle import settlement
from holdfast.handler.failures import what_it_raised
from holdfast.handler.handler import Handler
from holdfast.handler.handler_options import HandlerOptions
from holdfast.handler.history import lacks_messages
from holdfast.handler.run import run
from holdfast.handler.task import Task
from holdfast.handler.turn import is_whole
from holdfast.telemetry.port import Telemetry
from holdfast.worker.context import WorkerContext
from holdfast.worker.handler_limits import HandlerLimits
from holdfast.worker.task_log import TaskLog

_log = structlog.get_logger("holdfast.worker")


@dataclass(slots=True)
class RunningTask:
    """`earlier`: another turn of the same task, which is stopped; this one is begun when that has ended."""

    task: Task
    scope: anyio.CancelScope
    earlier: RunningTask | None = None
    over: anyio.Event = field(default_factory=anyio.Event)
    why: str = ""  # it was stopped: cancel, pause, drain, lost, another-turn, fenced or over

    async def alone(self) -> None:
        """Until the earlier turn has ended, even if this one is stopped before: never two at once."""
        if self.earlier:
            with anyio.CancelScope(shield=True):
                await self.earlier.over.wait()
            self.earlier = None

    def stop(self, why: str) -> None:
        self.why = self.why or why
        self.task.notes.cancelled = True
        self.scope.cancel()


@dataclass(slots=True)
class RunningTasks:
    """`ended` is told of every delivery that is over, and whether it was begun; `done` counts those that were,
    `released` those given back unfinished."""

    post: WorkerContext
    handler: Handler
    telemetry: Telemetry
    ended: Callable[[bool], None]
    done: int = 0
    released: int = 0
    _running: dict[str, RunningTask] = field(default_factory=dict[str, RunningTask])
    _empty: anyio.Event = field(default_factory=anyio.Event)
    _group: asyncio.TaskGroup = field(default_factory=asyncio.TaskGroup)
    _threads: anyio.CapacityLimiter = field(init=False)
    _policy: RetryPolicy = field(init=False)
    _rooms: HandlerLimits = field(init=False)
    _telling: TaskLog = field(init=False)

    def __post_init__(self) -> None:
        settings = self.post.spec.settings
        self._threads = anyio.CapacityLimiter(settings.concurrency)
        self._telling = TaskLog(self.post.incarnation, settings.log_level)
        self._rooms = HandlerLimits(settings.concurrency, time.monotonic)
        self._policy = RetryPolicy(settings.max_attempts, settings.retry_base, settings.retry_cap)

    async def serve(self) -> None:
        """Be there for what is started, for ever; cancelled, stop it and wait for its end."""
        async with self._group:
            try:
                await anyio.sleep_forever()
            finally:
                self.stop_all("over")
                with anyio.CancelScope(shield=True):
                    while self._running:
                        self._empty = anyio.Event()
                        await self._empty.wait()

    def start(self, delivery: Delivery) -> None:
        task = Task(delivery, self.post.spec.settings.max_message_bytes)
        earlier = self._running.get(delivery.task_id)
        if earlier:
            earlier.stop("another-turn")
        running = self._running[delivery.task_id] = RunningTask(task, anyio.CancelScope(), earlier)
        self._group.create_task(self._deliver(delivery, running))

    def stop(self, task_id: str, claim: str, why: str) -> None:
        """End this handler, if it still runs under this claim."""
        running = self._running.get(task_id)
        if running and self.post.exchange.holds(task_id, claim):
            running.stop(why)

    def stop_all(self, why: str) -> None:
        for running in list(self._running.values()):
            running.stop(why)

    def notes(self) -> dict[str, Holding]:
        """What running handlers have to say that the store may not know."""
        held = self.post.exchange.held
        return {
            task_id: Holding(
                task_id, held[task_id].claim, running.task.notes.progress, running.task.notes.unstored_checkpoint
            )
            for task_id, running in self._running.items()
            if task_id in held
        }

    def noted(self, told: Iterable[Holding]) -> None:
        """The store knows this now. What it has not answered to is told again: a lost renewal loses no checkpoint."""
        for holding in told:
            running = self._running.get(holding.task_id)
            if running and holding.checkpoint is not None:
                running.task.notes.stored(holding.checkpoint)

    async def _deliver(self, delivery: Delivery, running: RunningTask) -> None:
        outcome: Outcome | Deferred | None = None
        try:
            await running.alone()
            with running.scope:
                outcome = await self._in_turn(delivery, running)
        except BaseException as error:
            # Border of a task: nothing that leaves it may keep the slot, or end the other deliveries.
            outcome = None if running.why else _left_by(error, delivery)
        self._end(delivery, running, outcome or HandlerStopped(running.why))

    async def _in_turn(self, delivery: Delivery, running: RunningTask) -> Outcome | Deferred:
        """Run, where its handler has a place for it; else wait for one, or not be begun here."""
        while not running.task.unreadable and not is_whole(delivery):
            delivery = await self._with_more(delivery)
            running.task.take(delivery)
        name = running.task.operation.name
        places = self._options(running).concurrency
        if name is None or places is None:
            return await self._run(delivery, running)
        room = self._rooms.of(name, places)
        if room.is_full and not self._rooms.may_wait():
            return Deferred(room.turn_in())
        async with self._rooms.enter(room):
            return await self._run(delivery, running)

    def _options(self, running: RunningTask) -> HandlerOptions:
        return self.handler.options(running.task.operation.name)

    def _policy_of(self, running: RunningTask) -> RetryPolicy:
        attempts = self._options(running).max_attempts
        return replace(self._policy, max_attempts=attempts) if attempts else self._policy

    async def _run(self, delivery: Delivery, running: RunningTask) -> Outcome:
        delivery = await self._with_history(delivery, running.task)
        self._telling.consumed(delivery, running.task)
        timeout = self.post.spec.settings.timeout_of(delivery.lane)
        with self.telemetry.delivery(delivery, running.task) as span:
            outcome = await run(
                self.handler, delivery, running.task, self._threads, timeout, on_stuck=self.post.stuck.set
            )
            span.ended(outcome)
            return outcome

    async def _with_history(self, delivery: Delivery, task: Task) -> Delivery:
        """With all earlier messages that the operation asks for: a pull tells only so many bytes of them."""
        while not task.unreadable and lacks_messages(delivery, task.operation):
            delivery = await self._with_more(delivery)
        return delivery

    async def _with_more(self, delivery: Delivery) -> Delivery:
        read = partial(self.post.store.earlier, delivery.task_id, delivery.earlier)
        found, earlier = await self.post.insist.call("earlier", read)
        return replace(delivery, history=(*found, *delivery.history), earlier=earlier)

    def _end(self, delivery: Delivery, running: RunningTask, outcome: Outcome | Deferred) -> None:
        is_latest = self._running[delivery.task_id] is running
        if not is_latest:  # whatever came of it is no outcome of the turn that was claimed since
            outcome = HandlerStopped(running.why)
        checkpoint = running.task.notes.checkpoint
        report = settlement(outcome, delivery, self._policy_of(running), random.random(), checkpoint)
        self._telling.ended(delivery, running.task, outcome, report)
        if report and report.kind is Settle.RELEASE:
            self.released += 1
        if is_latest:
            del self._running[delivery.task_id]
            self.post.exchange.finish(delivery.task_id, report)
        running.over.set()
        if not self._running:
            self._empty.set()
        begun = not isinstance(outcome, Deferred)
        self.done += begun
        self.ended(begun)


def _left_by(error: BaseException, delivery: Delivery) -> Outcome:
    _log.error("a delivery was left by an error", task_id=delivery.task_id, exc_info=error)
    return what_it_raised(error)
