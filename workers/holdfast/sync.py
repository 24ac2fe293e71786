"""The producer's API without async: the same names, arguments and errors as `holdfast.TaskManager`.

    with TaskManager(load().redis) as manager:
        task_id = manager.run_task("hello")
        record = manager.wait(task_id, timeout=60)

One manager is for a whole program, and may be used from any of its threads. What is asked runs in an event loop in a
thread of its own, which begins with the first call. A fork is safe at any time: the child begins a loop and connections
of its own with its first call, and leaves alone what belongs to its parent. In a coroutine use the async one: this one
would hold up the loop.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from holdfast.client import manager as asynchronous
from holdfast.client.event_stream import MissedEvents
from holdfast.client.loops import BackgroundLoop, ProcessLoop, ServedByTest
from holdfast.client.manager_in_scope import manager_of_test
from holdfast.client.option_checks import check_database, check_parts, check_redis
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.sync_parts import SyncBatch, each
from holdfast.core.acceptance import Submission
from holdfast.core.activity import Happening
from holdfast.core.emitted_parts import EmittedPart
from holdfast.core.tasks import TaskRecord
from holdfast.store import open_store

if TYPE_CHECKING:
    from typing import Self

    from holdfast.client.sync_parts import SyncSchedules
    from holdfast.client.task_spec import TaskSpec
    from holdfast.handler.registry import Handlers
    from holdfast_config import RedisSettings
    from holdfast_config.store_settings import PostgresSettings

P = ParamSpec("P")
R = TypeVar("R")

Served = BackgroundLoop[asynchronous.TaskManager] | ServedByTest


def _sync(
    method: Callable[Concatenate[asynchronous.TaskManager, P], Awaitable[R]],
) -> Callable[Concatenate[TaskManager, P], R]:
    @functools.wraps(method)
    def call(self: TaskManager, /, *args: P.args, **kwargs: P.kwargs) -> R:
        background = self._running()  # pyright: ignore[reportPrivateUsage]  # of the class below
        return background.call(method, background.served, *args, **kwargs)

    return call


class TaskManager:
    """Producers and operators of the queue that the settings name; to be closed, or used as a context manager.

    `database` names the PostgreSQL that keeps the tasks, too, if storage in PostgreSQL is used (`load().postgres`). The
    other arguments are those of `holdfast.TaskManager`.
    """

    def __init__(
        self,
        settings: RedisSettings,
        *,
        database: PostgresSettings | None = None,
        max_message_bytes: int = 1048576,
        retries: SubmitRetries | None = None,
        handlers: Handlers[Any, Any] | None = None,
    ) -> None:
        check_redis(settings)
        check_database(database)
        check_parts(retries, handlers, max_message_bytes)
        chosen = retries or SubmitRetries.of(settings.submit)

        @asynccontextmanager
        async def serve() -> AsyncGenerator[asynchronous.TaskManager, None]:
            async with open_store(settings, database) as store:
                yield asynchronous.TaskManager(
                    store,
                    queue=settings.queue,
                    max_message_bytes=max_message_bytes,
                    retries=chosen,
                    handlers=handlers,
                )

        self._loop = ProcessLoop(serve)

    def _running(self) -> Served:
        """The loop that serves its calls; in a test that of the test's manager, as this one may outlive the test."""
        manager = manager_of_test()
        return self._loop.running() if manager is None else ServedByTest(manager)

    def close(self) -> None:
        """Close its connections and end its thread; calls under way in other threads end with ClosedError."""
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    run_task = _sync(asynchronous.TaskManager.run_task)
    run_tasks = _sync(asynchronous.TaskManager.run_tasks)
    run_flow = _sync(asynchronous.TaskManager.run_flow)
    submit = _sync(asynchronous.TaskManager.submit)
    cancel_task = _sync(asynchronous.TaskManager.cancel_task)
    pause_task = _sync(asynchronous.TaskManager.pause_task)
    resume_task = _sync(asynchronous.TaskManager.resume_task)
    get_task = _sync(asynchronous.TaskManager.get_task)
    list_tasks = _sync(asynchronous.TaskManager.list_tasks)
    search_tasks = _sync(asynchronous.TaskManager.search_tasks)
    count_tasks = _sync(asynchronous.TaskManager.count_tasks)
    service = _sync(asynchronous.TaskManager.service)
    wait = _sync(asynchronous.TaskManager.wait)
    queue_length = _sync(asynchronous.TaskManager.queue_length)
    pause_queue = _sync(asynchronous.TaskManager.pause_queue)
    resume_queue = _sync(asynchronous.TaskManager.resume_queue)
    clear_queue = _sync(asynchronous.TaskManager.clear_queue)
    remove_task = _sync(asynchronous.TaskManager.remove_task)
    clean_tasks = _sync(asynchronous.TaskManager.clean_tasks)
    obliterate_queue = _sync(asynchronous.TaskManager.obliterate_queue)
    health_check = _sync(asynchronous.TaskManager.health_check)
    retry_task = _sync(asynchronous.TaskManager.retry_task)
    ask_retry = _sync(asynchronous.TaskManager.ask_retry)
    dead_letters = _sync(asynchronous.TaskManager.dead_letters)
    purge_dead_letters = _sync(asynchronous.TaskManager.purge_dead_letters)

    batches = _sync(asynchronous.TaskManager.batches)
    why = _sync(asynchronous.TaskManager.why)
    workers = _sync(asynchronous.TaskManager.workers)
    lanes = _sync(asynchronous.TaskManager.lanes)

    @property
    def schedules(self) -> SyncSchedules:
        """Set, read, pause and remove schedules."""
        from holdfast.client.sync_parts import SyncSchedules

        return SyncSchedules(self._running)

    @functools.wraps(asynchronous.TaskManager.batch)
    def batch(self, batch_id: str) -> SyncBatch:
        return SyncBatch(self._running, batch_id)

    @functools.wraps(asynchronous.TaskManager.prepare)
    def prepare(self, spec: TaskSpec) -> Submission:
        return self._running().served.prepare(spec)

    @functools.wraps(asynchronous.TaskManager.wait_all)
    def wait_all(self, task_ids: Iterable[str]) -> Iterator[TaskRecord]:
        background = self._running()
        return each(background, background.served.wait_all(task_ids))

    @functools.wraps(asynchronous.TaskManager.stream)
    def stream(self, task_id: str, *, after: int = 0) -> Iterator[EmittedPart]:
        background = self._running()
        return each(background, background.served.stream(task_id, after=after))

    @functools.wraps(asynchronous.TaskManager.events)
    def events(
        self, task_id: str | None = None, *, since: str | float | None = None, kinds: Iterable[str] = ()
    ) -> Iterator[Happening | MissedEvents]:
        background = self._running()
        return each(background, background.served.events(task_id, since=since, kinds=kinds))
