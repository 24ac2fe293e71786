"""The framework's scheduler over a Holdfast queue."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import structlog
from bindu.server.scheduler.base import Scheduler  # pyright: ignore[reportMissingModuleSource]  # the extra: needs Python 3.12

from holdfast.bindu.consumer import Consumer
from holdfast.bindu.envelopes import checked, submission_of
from holdfast.bindu.held_tasks import HeldTasks
from holdfast.client.manager import TaskManager
from holdfast.client.submission import raise_refusals
from holdfast.core.task_states import TERMINAL
from holdfast.errors import ClosedError, TaskEndedError, UnknownTaskError
from holdfast.store import make_store
from holdfast_config import Settings

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from holdfast.store.protocol import Store

_log = structlog.get_logger("holdfast.bindu")


class HoldfastScheduler(Scheduler):
    """Made by `connect`; use it as a context manager. Its operations are submitted as any producer's: idempotent, and
    retried while the store cannot be reached. Errors are those of `holdfast.errors`."""

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
        """The URL of its store, without a password."""
        return self._settings.redis.masked_url

    def use(self, settings: Settings) -> None:
        """Use these settings instead, before it is entered."""
        self._settings = settings

    async def __aenter__(self) -> Self:
        """Raises StoreUnavailableError, with the URL, if the store does not answer."""
        store = make_store(self._settings.redis, self._settings.postgres)
        try:
            await store.ping()
        except BaseException:
            await store.aclose()
            raise
        self._store, self._closing = store, asyncio.Event()
        _log.info(f"Holdfast scheduler connected to {self._settings.redis.masked_url}", consumes=self._consume)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Give tasks that the framework's workers still hold back to the queue."""
        self._closing.set()
        for consumer in self._serving:
            consumer.close()
        await asyncio.gather(*self._serving.values(), return_exceptions=True)
        self._serving.clear()
        store, self._store = self._store, None
        if store is not None:
            await store.aclose()

    async def run_task(self, params: dict[str, Any]) -> None:
        """Submit a task, or one more message for one. Raises TaskEndedError, MessageConflictError, InvalidTaskError."""
        submission = submission_of(params, self._settings.queue_name, self._settings.max_message_bytes)
        await self._refuse_ended(submission.task_id)
        raise_refusals([submission], await self._manager.submit([submission]))
        await self._opened.add(submission.task_id, ran=True)

    async def _refuse_ended(self, task_id: str) -> None:
        """A task may have ended in the storage before it was submitted: it was canceled, say."""
        state = await self._opened.noted_state(task_id)
        if state in TERMINAL and await self._opened.get(task_id) is None:
            raise TaskEndedError(f"task {task_id} is {state} and takes no more messages; submit a new task")

    async def cancel_task(self, params: dict[str, Any]) -> None:
        """End a task, running or not. The cancel of an unknown one is kept for a while, in case it comes."""
        with suppress(UnknownTaskError):
            await self._manager.cancel_task(_id(params), "canceled by the application")

    async def pause_task(self, params: dict[str, Any]) -> None:
        """Raises UnknownTaskError."""
        await self._manager.pause_task(_id(params), "paused by the application")

    async def resume_task(self, params: dict[str, Any]) -> None:
        """Raises UnknownTaskError."""
        await self._manager.resume_task(_id(params), reason="resumed by the application")

    async def receive_task_operations(self) -> AsyncIterator[dict[str, Any]]:
        """The operations that a worker of the framework is to run, one after the other; none if `consume` is off.

        Each call is a worker of its own. Asking for the next operation ends the one before. Cancel, pause and resume
        are done in the store and never returned here.
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
        """The number of entries that wait."""
        return await self._manager.queue_length(self._settings.queue_name)

    async def clear_queue(self) -> int:
        """Cancel the waiting tasks; their number."""
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
    return str(checked("task_id", params.get("task_id")))
