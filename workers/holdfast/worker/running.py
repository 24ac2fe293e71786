"""The deliveries in hand: each runs in a scope of its own, and what came of it is left for the next request."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import anyio
import structlog
from anyio.abc import TaskGroup

from holdfast.core.deliveries import Delivery, Holding, Settle
from holdfast.core.outcomes import Outcome, Stopped
from holdfast.core.retry import RetryPolicy
from holdfast.core.settling import settlement
from holdfast.handler.handler import Handler
from holdfast.handler.run import run
from holdfast.handler.task import Task
from holdfast.telemetry.port import Telemetry
from holdfast.worker.post import Post

_log = structlog.get_logger("holdfast.worker")


@dataclass(slots=True)
class Running:
    task: Task
    scope: anyio.CancelScope
    why: str = ""  # it was stopped: cancel, pause, drain, lost or fenced

    def stop(self, why: str) -> None:
        self.why = self.why or why
        self.task.notes.cancelled = True
        self.scope.cancel()


@dataclass(slots=True)
class Hands:
    """`ended` is told of every delivery that is over; `done` counts them, `released` those given back unfinished."""

    post: Post
    handler: Handler
    telemetry: Telemetry
    group: TaskGroup
    ended: Callable[[], None]
    done: int = 0
    released: int = 0
    _running: dict[str, Running] = field(default_factory=dict[str, Running])
    _threads: anyio.CapacityLimiter = field(init=False)
    _policy: RetryPolicy = field(init=False)

    def __post_init__(self) -> None:
        settings = self.post.spec.settings
        self._threads = anyio.CapacityLimiter(settings.concurrency)
        self._policy = RetryPolicy(settings.max_attempts, settings.retry_base, settings.retry_cap)

    def start(self, delivery: Delivery) -> None:
        task = Task(delivery, self.post.spec.settings.max_message_bytes)
        running = self._running[delivery.task_id] = Running(task, anyio.CancelScope())
        self.group.start_soon(self._deliver, delivery, running)

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

    async def _deliver(self, delivery: Delivery, running: Running) -> None:
        outcome: Outcome | None = None
        with running.scope:
            outcome = await self._run(delivery, running)
        self._end(delivery, running, outcome or Stopped(running.why))

    async def _run(self, delivery: Delivery, running: Running) -> Outcome:
        timeout = self.post.spec.settings.task_timeout
        with self.telemetry.delivery(delivery, running.task) as span:
            outcome = await run(
                self.handler, delivery, running.task, self._threads, timeout, on_stuck=self.post.stuck.set
            )
            span.ended(outcome)
            return outcome

    def _end(self, delivery: Delivery, running: Running, outcome: Outcome) -> None:
        checkpoint = running.task.notes.checkpoint
        report = settlement(outcome, delivery, self._policy, random.random(), checkpoint)
        if isinstance(outcome, Stopped):
            _log.info("stopped a handler", task=delivery.task_id, why=outcome.why)
        if report and report.kind is Settle.RELEASE:
            self.released += 1
        del self._running[delivery.task_id]
        self.post.exchange.finish(delivery.task_id, report)
        self.done += 1
        self.ended()
