"""A scheduler for the framework that keeps its tasks in a Holdfast queue."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import anyio
from bindu.server.scheduler.base import Scheduler  # pyright: ignore[reportMissingModuleSource]  # the extra: needs Python 3.12

from holdfast.bindu.held_tasks import HeldTask, HeldTasks
from holdfast.bindu.task_view import checked, operation_of, submission_of
from holdfast.client.manager import TaskManager
from holdfast.client.submission import raise_refusals
from holdfast.core.messages import Message
from holdfast.core.outcomes import HandlerStopped, Outcome
from holdfast.core.task_states import TERMINAL
from holdfast.errors import ClosedError, TaskEndedError, UnknownTaskError
from holdfast.handler.handler import Handler
from holdfast.handler.task import Task
from holdfast.os import locks
from holdfast.store import make_store
from holdfast.worker.in_process import InProcessWorker, open_worker
from holdfast_config import Settings, library_log

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from holdfast.store import Store


# Run one Holdfast worker for each worker of the framework, in the framework's process.
#
# The Holdfast worker has an incarnation and a lease of its own, and holds one delivery at a time. It claims the next
# task only when the framework's worker asks for one, so that waiting tasks go to idle workers. If the process dies, its
# task is delivered again when the lease has ended. If a supervisor of the same host and runtime folder watches the lock
# file, this takes seconds.

PAUSE = 1.0  # seconds between the end of a worker by the store and the start of another one

_log = library_log.get_logger("holdfast.bindu")


class Consumer:
    """Connects one worker of the framework to Holdfast: it passes deliveries to this worker and takes the outcomes.
    Implements `holdfast.handler.handler.Runner`. `serve` runs until `close`."""

    def __init__(self, store: Store, settings: Settings, held_tasks: HeldTasks, slot: int) -> None:
        single = {"concurrency": 1, "task_timeout": None, "max_tasks": None, "max_memory": None, "drain_timeout": 0.0}
        self._settings = settings.model_copy(update=single)
        self._store, self._held_tasks, self._slot = store, held_tasks, slot
        self._operation: dict[str, Any] | None = None
        self._given = anyio.Event()
        self._closing = anyio.Event()
        self._worker: InProcessWorker | None = None
        self._held: HeldTask | None = None
        self._ready = False

    async def serve(self) -> None:
        """Run a Holdfast worker. If the store ends it (for example after a lost lease), run another one."""
        try:
            while not self._closing.is_set():
                await self._run_worker()
        finally:
            self._held_tasks.clear()
            self._given.set()

    async def next(self) -> dict[str, Any] | None:
        """Wait for the next operation; None after `close`. This call also ends the operation before."""
        self._let_go(gone=False)
        self._set_ready(True)
        await self._given.wait()
        self._given = anyio.Event()
        operation, self._operation = self._operation, None
        return operation

    def close(self) -> None:
        """Claim no more tasks, and give the held task back to the queue: the framework's worker is gone."""
        self._closing.set()
        self._set_ready(False)
        self._let_go(gone=True)

    async def run(self, task: Task, messages: list[Message]) -> Outcome:
        """Give a delivery to the framework's worker, and wait for its outcome. The worker cannot be interrupted: if the
        task is canceled, this still waits for the outcome and then ignores it."""
        if self._closing.is_set():
            return HandlerStopped("drain")
        self._set_ready(False)
        held = self._held = HeldTask(task.id, self._settings.max_message_bytes)
        self._held_tasks.take(held)
        self._operation = operation_of(task)
        self._given.set()
        try:
            await held.over.wait()
        except anyio.get_cancelled_exc_class():
            held.stop()
            with anyio.CancelScope(shield=True):
                await held.back.wait()
            raise
        finally:
            self._held_tasks.drop(held)
        assert held.outcome is not None
        return held.outcome

    def _set_ready(self, ready: bool) -> None:
        self._ready = ready
        if self._worker is not None:
            self._worker.set_ready(ready)

    def _let_go(self, *, gone: bool) -> None:
        held, self._held = self._held, None
        if held is not None:
            held.leave(gone=gone)

    async def _run_worker(self) -> None:
        handler = Handler("bindu", self)
        opening = open_worker(
            self._store,
            handler,
            self._settings,
            self._slot,
            ready=self._ready,
            on_verdict=self._held_tasks.take_verdict,
        )
        async with opening as worker:
            self._worker = worker
            worker.set_ready(self._ready)
            with _locked(worker.incarnation, self._settings):
                await _first(worker.over, self._closing)
                worker.hasten()
                await worker.over.wait()
        if not self._closing.is_set():
            _log.warning("the store declared this worker dead: another one begins", incarnation=worker.incarnation)
            with anyio.move_on_after(PAUSE):
                await self._closing.wait()
            return
        await self._store.recover(worker.incarnation, "left", charged=False, ordered=True)


async def _first(*events: anyio.Event) -> None:
    """Wait until one of these events is set."""
    async with anyio.create_task_group() as group:

        async def wait(event: anyio.Event) -> None:
            await event.wait()
            group.cancel_scope.cancel()

        for event in events:
            group.start_soon(wait, event)


@contextmanager
def _locked(incarnation: str, settings: Settings) -> Generator[None]:
    """Hold the worker's lock file while the block runs, if the runtime folder of a supervisor is there and writable."""
    folder = settings.runtime_folder.check() / "incarnations"
    if not os.access(folder, os.W_OK):
        yield
        return
    path = folder / f"{incarnation}.lock"
    descriptor = locks.hold(path)
    try:
        yield
    finally:
        path.unlink(missing_ok=True)
        if descriptor is not None:
            os.close(descriptor)


class HoldfastScheduler(Scheduler):
    """The framework's scheduler interface over a Holdfast queue. `connect` makes it; use it with `async with`. Its
    calls are idempotent, and are repeated while the store cannot be reached. They raise the errors of
    `holdfast.errors`."""

    def __init__(self, settings: Settings, held_tasks: HeldTasks, *, consume: bool) -> None:
        self._settings, self._held_tasks, self._consume = settings, held_tasks, consume
        self._store: Store | None = None
        self._serving: dict[Consumer, asyncio.Task[None]] = {}
        self._closing = asyncio.Event()

    @property
    def is_open(self) -> bool:
        return self._store is not None

    @property
    def store_url(self) -> str:
        """The URL of the scheduler's store, with the password masked."""
        return self._settings.redis.masked_url

    def use(self, settings: Settings) -> None:
        """Replace the settings. Call this before the scheduler is entered."""
        self._settings = settings

    async def __aenter__(self) -> Self:
        """Open the store. Raises StoreUnavailableError, which names the URL, if the store does not answer."""
        store = make_store(self._settings.redis, self._settings.postgres)
        try:
            await store.ping_for_submits()
        except BaseException:
            await store.aclose()
            raise
        self._store, self._closing = store, asyncio.Event()
        _log.info(f"Holdfast scheduler connected to {self._settings.redis.masked_url}", consumes=self._consume)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Return the tasks that the framework's workers still hold to the queue, and close the store."""
        self._closing.set()
        for consumer in self._serving:
            consumer.close()
        await asyncio.gather(*self._serving.values(), return_exceptions=True)
        self._serving.clear()
        store, self._store = self._store, None
        if store is not None:
            await store.aclose()

    async def run_task(self, params: dict[str, Any]) -> None:
        """Submit a task, or one more message for a task. Raises TaskEndedError, MessageConflictError,
        InvalidTaskError."""
        submission = submission_of(params, self._settings.queue_name, self._settings.max_message_bytes)
        await self._refuse_ended(submission.task_id)
        raise_refusals([submission], await self._manager.submit([submission]))
        await self._opened.add(submission.task_id, ran=True)

    async def _refuse_ended(self, task_id: str) -> None:
        """Raise TaskEndedError for a task that ended in the storage before it was submitted, for example by a
        cancel."""
        state = await self._opened.noted_state(task_id)
        if state in TERMINAL and await self._opened.get(task_id) is None:
            raise TaskEndedError(f"task {task_id} is {state} and takes no more messages; submit a new task")

    async def cancel_task(self, params: dict[str, Any]) -> None:
        """Cancel a task, running or not. The store keeps the cancel of an unknown task for ten minutes, in case the
        task comes later."""
        with suppress(UnknownTaskError):
            await self._manager.cancel_task(_id(params), "canceled by the application")

    async def pause_task(self, params: dict[str, Any]) -> None:
        """Pause a task. Raises UnknownTaskError."""
        await self._manager.pause_task(_id(params), "paused by the application")

    async def resume_task(self, params: dict[str, Any]) -> None:
        """Resume a paused task. Raises UnknownTaskError."""
        await self._manager.resume_task(_id(params), reason="resumed by the application")

    async def receive_task_operations(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the operations for one worker of the framework, one after the other; none if `consume` is off.

        A call counts as one worker. Asking for the next operation ends the operation before. Cancels, pauses and
        resumes happen in the store and are never yielded here.
        """
        store = self._opened
        if not self._consume:
            await self._closing.wait()
            return
        consumer = Consumer(store, self._settings, self._held_tasks, len(self._serving))
        serving = self._serving[consumer] = asyncio.create_task(consumer.serve())
        try:
            while (operation := await consumer.next()) is not None:
                yield operation
        finally:
            consumer.close()
        await serving

    async def get_queue_length(self) -> int:
        """The number of entries that wait in the queue."""
        return await self._manager.queue_length(self._settings.queue_name)

    async def clear_queue(self) -> int:
        """Cancel the waiting tasks; returns their number."""
        return await self._manager.clear_queue()

    async def health_check(self) -> bool:
        """True if the scheduler is open and the store answers now."""
        return self._store is not None and await self._manager.health_check()

    @property
    def _opened(self) -> Store:
        if self._store is None:
            raise ClosedError("the scheduler is not open: use it inside of `async with scheduler`")
        return self._store

    @property
    def _manager(self) -> TaskManager:
        settings = self._settings
        return TaskManager(self._opened, queue=settings.queue_name, max_message_bytes=settings.max_message_bytes)


def _id(params: dict[str, Any]) -> str:
    return checked("task_id", params.get("task_id"))
