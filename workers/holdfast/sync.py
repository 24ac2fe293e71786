"""The producer's API without async: the same names, arguments and errors as `holdfast.TaskManager`.

    with TaskManager(load().redis) as manager:
        task_id = manager.run_task("hello")
        record = manager.wait(task_id, timeout=60)

One manager is enough for a whole program, and any thread may use it. Calls run in an event loop in a background thread,
which begins with the first call. A fork is safe at any time: the child's first call begins a loop and connections of
its own. In a coroutine use the async manager, because this one would block the event loop.

Each method is one line in this module: `awaited` or `iterated` copies the arguments, types and docstring of the async
method.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from holdfast.client import manager as asynchronous
from holdfast.client.batch import Batch
from holdfast.client.manager_in_scope import ServedByTest, manager_of_test
from holdfast.client.schedules import Schedules
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.acceptance import Submission
from holdfast.core.plain_json import shown
from holdfast.errors import InvalidTaskError
from holdfast.os.loop_threads import BackgroundLoop, ProcessLoop
from holdfast.store import open_store
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings

if TYPE_CHECKING:
    from typing import Self

    from holdfast.client.task_spec import TaskSpec
    from holdfast.handler.registry import Handlers

A_co = TypeVar("A_co", covariant=True)
P = ParamSpec("P")
R = TypeVar("R")

Served = BackgroundLoop[asynchronous.TaskManager] | ServedByTest


class WithoutAsync(Generic[A_co]):
    """Base of the classes whose methods call an async object. `running()` returns the background event loop.
    `of(manager)` returns the async object of the manager that lives in this loop."""

    def __init__(self, running: Callable[[], Served], of: Callable[[asynchronous.TaskManager], A_co]) -> None:
        self._running, self._of = running, of


def awaited(
    method: Callable[Concatenate[A_co, P], Awaitable[R]],
) -> Callable[Concatenate[WithoutAsync[A_co], P], R]:
    """Make a method without async from a coroutine method: it waits for the result and returns it."""

    @functools.wraps(method)
    def call(self: WithoutAsync[A_co], /, *args: P.args, **kwargs: P.kwargs) -> R:
        background = self._running()  # pyright: ignore[reportPrivateUsage]  # of the class above
        return background.call(method, self._of(background.served), *args, **kwargs)  # pyright: ignore[reportPrivateUsage]

    return call


def iterated(
    method: Callable[Concatenate[A_co, P], AsyncGenerator[R]],
) -> Callable[Concatenate[WithoutAsync[A_co], P], Iterator[R]]:
    """Make a method without async from an async generator method: it returns an iterator that calls the loop for each
    value."""

    @functools.wraps(method)
    def call(self: WithoutAsync[A_co], /, *args: P.args, **kwargs: P.kwargs) -> Iterator[R]:
        background = self._running()  # pyright: ignore[reportPrivateUsage]  # of the class above
        return _each(background, method(self._of(background.served), *args, **kwargs))  # pyright: ignore[reportPrivateUsage]

    return call


def _each(background: Served, values: AsyncGenerator[R]) -> Iterator[R]:
    try:
        while (value := background.call(anext, values, None)) is not None:
            yield value
    finally:
        background.call(values.aclose)


class SyncBatch(WithoutAsync[Batch]):
    """A handle of a batch, for code without async. Its methods ask the store."""

    def __init__(self, running: Callable[[], Served], batch_id: str) -> None:
        super().__init__(running, lambda manager: manager.batch(batch_id))
        self.id = self._of(running().served).id

    record = awaited(Batch.record)
    wait = awaited(Batch.wait)
    seal = awaited(Batch.seal)
    cancel = awaited(Batch.cancel)
    tasks = iterated(Batch.tasks)


class SyncSchedules(WithoutAsync[Schedules]):
    """The schedules of a manager's queue, for code without async."""

    def __init__(self, running: Callable[[], Served]) -> None:
        super().__init__(running, lambda manager: manager.schedules)

    upsert = awaited(Schedules.upsert)
    put = awaited(Schedules.put)
    declare = awaited(Schedules.declare)
    put_all = awaited(Schedules.put_all)
    begin = awaited(Schedules.begin)
    check = awaited(Schedules.check)
    check_all = awaited(Schedules.check_all)
    owned = awaited(Schedules.owned)
    known = awaited(Schedules.known)
    get = awaited(Schedules.get)
    list = awaited(Schedules.list)
    pause = awaited(Schedules.pause)
    resume = awaited(Schedules.resume)
    remove = awaited(Schedules.remove)
    run = awaited(Schedules.run)
    history = awaited(Schedules.history)
    preview = awaited(Schedules.preview)


class TaskManager(WithoutAsync[asynchronous.TaskManager]):
    """The calls of producers and operators of a queue, for code without async. Use a manager as a context manager, or
    close it. If PostgreSQL keeps the tasks, `database` names the database (`load().postgres`). The other arguments are
    those of `holdfast.TaskManager`.
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
        _check_stores(settings, database)
        asynchronous.check_parts(retries, handlers, max_message_bytes)
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
        super().__init__(functools.partial(_running, self._loop), lambda manager: manager)

    def close(self) -> None:
        """Close the manager's connections and end its thread. Calls that still run in other threads raise
        ClosedError."""
        self._loop.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    run_task = awaited(asynchronous.TaskManager.run_task)
    run_tasks = awaited(asynchronous.TaskManager.run_tasks)
    run_flow = awaited(asynchronous.TaskManager.run_flow)
    submit = awaited(asynchronous.TaskManager.submit)
    cancel_task = awaited(asynchronous.TaskManager.cancel_task)
    pause_task = awaited(asynchronous.TaskManager.pause_task)
    resume_task = awaited(asynchronous.TaskManager.resume_task)
    get_task = awaited(asynchronous.TaskManager.get_task)
    list_tasks = awaited(asynchronous.TaskManager.list_tasks)
    search_tasks = awaited(asynchronous.TaskManager.search_tasks)
    count_tasks = awaited(asynchronous.TaskManager.count_tasks)
    service = awaited(asynchronous.TaskManager.service)
    wait = awaited(asynchronous.TaskManager.wait)
    wait_all = iterated(asynchronous.TaskManager.wait_all)
    stream = iterated(asynchronous.TaskManager.stream)
    progress = iterated(asynchronous.TaskManager.progress)
    queue_length = awaited(asynchronous.TaskManager.queue_length)
    pause_queue = awaited(asynchronous.TaskManager.pause_queue)
    resume_queue = awaited(asynchronous.TaskManager.resume_queue)
    clear_queue = awaited(asynchronous.TaskManager.clear_queue)
    remove_task = awaited(asynchronous.TaskManager.remove_task)
    clean_tasks = awaited(asynchronous.TaskManager.clean_tasks)
    obliterate_queue = awaited(asynchronous.TaskManager.obliterate_queue)
    health_check = awaited(asynchronous.TaskManager.health_check)
    retry_task = awaited(asynchronous.TaskManager.retry_task)
    ask_retry = awaited(asynchronous.TaskManager.ask_retry)
    dead_letters = awaited(asynchronous.TaskManager.dead_letters)
    purge_dead_letters = awaited(asynchronous.TaskManager.purge_dead_letters)
    batches = awaited(asynchronous.TaskManager.batches)
    events = iterated(asynchronous.TaskManager.events)
    why = awaited(asynchronous.TaskManager.why)
    workers = awaited(asynchronous.TaskManager.workers)
    lanes = awaited(asynchronous.TaskManager.lanes)

    @property
    def schedules(self) -> SyncSchedules:
        """Set, read, pause and remove schedules."""
        return SyncSchedules(self._running)

    @functools.wraps(asynchronous.TaskManager.batch)
    def batch(self, batch_id: str) -> SyncBatch:
        return SyncBatch(self._running, batch_id)

    @functools.wraps(asynchronous.TaskManager.prepare)
    def prepare(self, spec: TaskSpec) -> Submission:
        return self._running().served.prepare(spec)


def _running(loop: ProcessLoop[asynchronous.TaskManager]) -> Served:
    """The background loop that serves a manager's calls. In a test the calls go to the test's manager instead."""
    manager = manager_of_test()
    return loop.running() if manager is None else ServedByTest(manager)


def _check_stores(settings: object, database: object) -> None:
    """Check the types at run time, because callers may not use a type checker. Raises InvalidTaskError."""
    if not isinstance(settings, RedisSettings):
        raise InvalidTaskError(f"settings {shown(settings)}: RedisSettings are expected, such as load().redis")
    if database is not None and not isinstance(database, PostgresSettings):
        raise InvalidTaskError(f"database {shown(database)}: PostgresSettings are expected, such as load().postgres")
