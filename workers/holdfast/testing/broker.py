"""The broker of a test. It keeps tasks in memory and runs them in the process of the test. The test decides when tasks
run, and moves the time."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Concatenate, NoReturn, ParamSpec

import anyio

from holdfast.client import manager_in_scope
from holdfast.client.manager import TaskManager
from holdfast.client.manager_in_scope import call_sync
from holdfast.client.query import SETTLED
from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.core.delivery import Settle, Settlement, Verdict
from holdfast.core.tasks import TaskRecord
from holdfast.core.words import counted
from holdfast.errors import HandlerError, HoldfastError, NotDueError, WouldBlockError
from holdfast.handler.handler import Handler, Provider
from holdfast.handler.named_handler import handler_from
from holdfast.handler.registry import Handlers, settled
from holdfast.store.current_store import standing_in, worker_store
from holdfast.testing.still_store import ExpectedTask, HandlerOrName, StillStore, SubmittedTask, listed
from holdfast.worker.in_process import InProcessWorker, open_worker
from holdfast_config import Settings
from holdfast_config.lanes import Lane

# Run the tasks of a test with a worker in this process, until no task can run at the store's time.

PROMOTED = 1000  # due delayed tasks that one call moves into their lanes


@dataclass(slots=True)
class IdleRun:
    """Runs tasks until none can run. `deferred`: the ids of tasks that were put off because no place of their handler
    was free; they are tried again."""

    store: StillStore
    handler: Handler
    settings: Settings
    deferred: list[str] = field(default_factory=list[str])

    async def until_idle(self) -> int | None:
        """Run all tasks that can run now. Returns the milliseconds until the next task or schedule is due; None if
        there is none."""
        async with open_worker(self.store, self.handler, self._settings(), on_verdict=self._note) as worker:
            with self.store.telling(lambda: self._serve_new_lanes(worker)):
                wait = await self._until_idle(worker)
        await self.store.recover(worker.incarnation, "left", charged=False, ordered=True)
        return wait

    def _settings(self) -> Settings:
        """The settings of a worker that serves all lanes that have tasks. A test has only this worker."""
        known = self.settings.lane_names
        found = dict.fromkeys(task.lane for task in self.store.submitted if task.lane not in known)
        return self.settings.model_copy(update={"lanes": (*self.settings.lanes, *map(Lane, found))})

    def _serve_new_lanes(self, worker: InProcessWorker) -> None:
        context, settings = worker.context, self._settings()
        if settings.lanes != context.spec.settings.lanes:
            context.spec = replace(context.spec, settings=settings)
            context.state.want_pull()

    def _note(self, settlement: Settlement, _: Verdict) -> None:
        if settlement.kind is Settle.DEFER:
            self.deferred.append(settlement.task_id)

    async def _until_idle(self, worker: InProcessWorker) -> int | None:
        """Wait until the worker is idle: it holds no task, finds none, and waits for no answer of the store. Returns
        like `until_idle`."""
        exchange, changed = worker.context.exchange, worker.context.state.changed
        while True:
            await changed.until(lambda: exchange.settled)
            before = exchange.answered
            await self._offer_deferred()
            fires_in = await self._fire()
            _, due_in = await self.store.promote(PROMOTED)
            if due_in != 0 and exchange.settled and exchange.answered == before:
                worker.context.state.want_pull()
                await changed.next(lambda: exchange.settled)
                if exchange.answered == before + 1:
                    return min((wait for wait in (fires_in, due_in) if wait is not None), default=None)

    async def _fire(self) -> int | None:
        """Create the tasks of due schedules. Returns the milliseconds until the next schedule is due; None if there is
        none."""
        store, settings = self.store, self.settings
        firer = ScheduleFirer(store, settings.queue_name, settings.max_message_bytes, lambda: store.now_ms / 1000)
        await firer.round()
        return (await store.due_schedules(1)).wait

    async def _offer_deferred(self) -> None:
        deferred, self.deferred = self.deferred, []
        for task_id in deferred:
            await self.store.retry(task_id, "a place of its handler is free")


NO_HANDLERS = (
    "this broker has no handlers that could run tasks: let the fixture `holdfast_handlers` return a Handlers registry "
    "or a function"
)
NOTHING_RUNS = "nothing of this test can run now: look at its `why`, or move_time(…)"
# The worker of a test is not recycled, sends no telemetry, and keeps its lease while a debugger stops the test.
OF_TESTS = {
    "scheduler_type": "memory",
    "storage_type": "redis",
    "database_url": None,
    "otlp_endpoint": None,
    "max_tasks": None,
    "max_memory": None,
    "lease": 86400.0,
}

P = ParamSpec("P")

AnyHandler = Callable[..., Any] | Handlers[Any] | Provider | Handler


@contextmanager
def memory_broker(handlers: AnyHandler | None, settings: Settings | None = None) -> Generator[MemoryBroker]:
    """A context manager that gives a broker for one test. While the block runs, all code of this process submits to
    this broker, even if the code names another store.

    If no handlers are given, tasks are kept and never run. Attempts, retries, limits and lanes come from `settings`.
    Raises HandlerError if `handlers` is no handler, and StoreRefusedError inside another such block.
    """
    broker = MemoryBroker(handlers, settings or Settings())
    with standing_in(broker.store, broker.settings.queue_name), manager_in_scope.everywhere(broker.manager):
        yield broker


def _without_async(
    method: Callable[Concatenate[MemoryBroker, P], Awaitable[None]],
) -> Callable[Concatenate[MemoryBroker, P], None]:
    @functools.wraps(method)
    def call(self: MemoryBroker, /, *args: P.args, **kwargs: P.kwargs) -> None:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return call_sync(method, self, *args, **kwargs)
        name = method.__name__
        raise WouldBlockError(f"{name}_sync in a coroutine would block its event loop: await {name}(…)")

    return call


class MemoryBroker:
    """The broker of a test. Its `manager` is a TaskManager; `.submit` of registered handlers uses this manager, too.

    No task runs by itself. `run_until_idle` runs the tasks that can run now. `move_time` also runs tasks that become
    due in this time. A wait for a task first runs all tasks that can run now. Between these calls the time stands
    still.
    """

    def __init__(self, handlers: AnyHandler | None, settings: Settings) -> None:
        settings = settings.model_copy(update=OF_TESTS)
        self._handler: Handler | None = None
        if handlers is not None:
            name = getattr(handlers, "__name__", "the registry")
            self._handler = handlers if isinstance(handlers, Handler) else handler_from(handlers, name, settings)
            settings = settled(self._handler, settings, may_choose=True)
        self.settings = settings
        self.store = StillStore(settings.queue_name, round(time.time() * 1000), self._run_for_wait, self._check_ended)
        self.manager = TaskManager(self.store, queue=settings.queue_name, max_message_bytes=settings.max_message_bytes)
        self._turn = anyio.Lock()
        self._has_begun = False

    def __repr__(self) -> str:
        number = counted(len(self.store.submitted), "task")
        return f"<MemoryBroker of queue {self.settings.queue_name}: {number} submitted, {self.now.isoformat()}>"

    @property
    def now(self) -> datetime:
        """The time of the test, in UTC."""
        return datetime.fromtimestamp(self.store.now_ms / 1000, UTC)

    def begin_at(self, moment: datetime) -> None:
        """Set the time at which the test begins, in the past or the future. Raises ValueError if `moment` has no zone.
        Raises HoldfastError after the first submit or run: use `move_time` then."""
        if moment.utcoffset() is None:
            raise ValueError(f"{moment.isoformat()}: a time with a zone is expected, as {moment.isoformat()}+00:00")
        if self._has_begun or self.store.submitted:
            raise HoldfastError("begin_at comes first in a test; now use move_time(to=…)")
        self.store.set_clock(round(moment.timestamp() * 1000))

    def submitted(self, handler: HandlerOrName | None = None, /, **parameters: object) -> list[SubmittedTask]:
        """The submitted tasks of this handler that have at least these arguments, in order. Tasks that handlers and
        schedules submitted are included. Raises TypeError for a parameter that the handler does not have."""
        wanted = ExpectedTask.of(handler, parameters)
        return [task for task in self.store.submitted if wanted.fits(task)]

    def assert_submitted(self, handler: HandlerOrName | None = None, /, **parameters: object) -> SubmittedTask:
        """Check that a task of this handler with at least these arguments was submitted; returns the first one. Raises
        AssertionError, which lists the submitted tasks."""
        __tracebackhide__ = True
        if found := self.submitted(handler, **parameters):
            return found[0]
        raise AssertionError(
            f"{ExpectedTask.of(handler, parameters)} was not submitted; {listed(self.store.submitted)}"
        )

    def assert_not_submitted(self, handler: HandlerOrName | None = None, /, **parameters: object) -> None:
        """Check that no task of this handler with at least these arguments was submitted. Raises AssertionError."""
        __tracebackhide__ = True
        if found := self.submitted(handler, **parameters):
            raise AssertionError(f"{ExpectedTask.of(handler, parameters)} was submitted; {listed(found)}")

    async def run_until_idle(self) -> None:
        """Run tasks until no task can run at the test's time. Delayed tasks and retries wait for `move_time`. A
        handler's exception is recorded as the task's error, like in every worker, and not raised here."""
        async with self._running() as run:
            await run.until_idle()

    async def move_time(
        self,
        *,
        days: float = 0,
        hours: float = 0,
        minutes: float = 0,
        seconds: float = 0,
        to: datetime | None = None,
    ) -> None:
        """Let this much time pass, or all time until `to`. A task that becomes due in this time runs at its moment.

        Delays, retries, schedules and expiry all use this time. Raises ValueError if `to` has passed or has no zone.
        """
        until = self._moment(timedelta(days=days, hours=hours, minutes=minutes, seconds=seconds), to)
        if self._handler is not None:
            async with self._running() as run:
                await self._pass(run, until)
        self.store.set_clock(until)

    run_until_idle_sync = _without_async(run_until_idle)
    """Like `run_until_idle`, for tests without async."""

    move_time_sync = _without_async(move_time)
    """Like `move_time`, for tests without async."""

    def _moment(self, length: timedelta, to: datetime | None) -> int:
        """The moment to move to, in Unix milliseconds. Raises ValueError."""
        if to is None:
            until = self.store.now_ms + round(length.total_seconds() * 1000)
        elif to.utcoffset() is None or length:
            raise ValueError(
                f"to={to.isoformat()}: a time with a zone is expected, and none of days, hours, minutes and seconds"
            )
        else:
            until = round(to.timestamp() * 1000)
        if until < self.store.now_ms:
            raise ValueError(f"the time of a test cannot go back: it is {self.now.isoformat()}")
        return until

    async def _pass(self, run: IdleRun, until: int) -> None:
        while (wait := await run.until_idle()) is not None and self.store.now_ms + wait <= until:
            self.store.set_clock(self.store.now_ms + max(1, wait))

    @asynccontextmanager
    async def _running(self) -> AsyncGenerator[IdleRun]:
        """A context manager: tasks run in this event loop while its block runs. Only one such block is open at a time;
        others wait."""
        _check_asyncio()
        if self._handler is None:
            raise HandlerError(NO_HANDLERS)
        if worker_store():
            raise HoldfastError(
                "a handler cannot run the tasks of its test: in a handler, await `wait()` of a task's handle instead"
            )
        async with self._turn:
            self.store.engine.announce()  # replaces an event that may belong to the event loop of an earlier call
            entered = manager_in_scope.enter(self.manager, self.settings.queue_name)
            try:
                await self._declare(self._handler)
                yield IdleRun(self.store, self._handler, self.settings)
            finally:
                manager_in_scope.leave(entered)

    async def _declare(self, handler: Handler) -> None:
        """Declare the schedules of the registry, once, like a worker does at its start."""
        if not self._has_begun:
            for schedule_id, spec in handler.schedules.items():
                await self.manager.schedules.declare(schedule_id, spec, self.settings.application or "")
        self._has_begun = True

    async def _run_for_wait(self) -> None:
        if self._handler is not None:
            await self.run_until_idle()

    async def _check_ended(self, subjects: Sequence[str]) -> None:
        """Raise NotDueError for the first of these tasks that has neither ended nor asked for input, or for a batch
        (`batch|ID`) that has not ended."""
        for subject in subjects:
            kind, _, batch_id = subject.rpartition("|")
            if kind:
                record = await self.manager.batch(batch_id).record()
                if record.ended_ms is None:
                    raise NotDueError(f"batch {batch_id} is {record.state}, and {NOTHING_RUNS}")
            elif (task := await self.manager.get_task(subject)).state not in SETTLED:
                self._refuse_wait(task)

    def _refuse_wait(self, record: TaskRecord) -> NoReturn:
        where = f"task {record.task_id} ({record.name or 'default'}) is {record.state}"
        if record.reason:
            where = f"{where} ({record.reason})"
        if self._handler is None:
            raise NotDueError(f"{where}, and {NO_HANDLERS}")
        if self._handler.names is not None and record.name not in self._handler.names:
            raise NotDueError(f"{where}: {self._handler.absence(record.name or None)}")
        if record.due_ms is not None and record.due_ms > self.store.now_ms:
            seconds = (record.due_ms - self.store.now_ms) / 1000
            raise NotDueError(
                f"{where} for {seconds:g} s more, and the time of a test stands still: move_time(seconds={seconds:g})"
            )
        raise NotDueError(f"{where}, and {NOTHING_RUNS}")


def _check_asyncio() -> None:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise HoldfastError(
            "Holdfast runs on asyncio alone: let the fixture `anyio_backend` return 'asyncio'"
        ) from None
