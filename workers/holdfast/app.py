"""The broker of an application: one call from settings to a TaskManager, and workers in the same process for tests.

async with create_broker(type="memory") as broker:
    async with broker.working(handle):
        task_id = await broker.manager.run_task("hello")
        assert (await broker.manager.wait(task_id)).state == "completed"
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from holdfast.client import manager_in_scope
from holdfast.client.arguments import check_seconds, check_workers
from holdfast.client.manager import TaskManager, check_parts
from holdfast.client.store_source import find_source, names_memory, need_memory
from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.plain_json import shown
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from holdfast.core.words import counted
from holdfast.errors import InvalidTaskError, UnservedTasksError
from holdfast.handler.handler import Provider
from holdfast.handler.named_handler import handler_from
from holdfast.handler.registry import Handlers, settled
from holdfast_config import ConfigError, Settings

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from holdfast.store import Store


# Finds tasks that were never offered to a worker before their store in memory ends.

WAITING = (State.SUBMITTED, State.DELAYED, State.WAITING)
PAGE = 100


@dataclass(slots=True)
class UnservedTasks:
    """Checks that no task is lost at the end of a store in memory, because no `working` block ran it. `counts`: True if
    the store is in memory and nobody else can reach it; otherwise nothing is checked."""

    counts: bool = False
    _served: set[str] = field(default_factory=set[str])

    async def note_served(self, store: Store) -> None:
        """Record all tasks that still wait at the end of a `working` block. The block could have run them, so they
        count as served."""
        if self.counts:
            self._served |= await _waiting(store)

    async def check(self, store: Store) -> None:
        """Raise UnservedTasksError if tasks wait that no `working` block has served."""
        if self.counts and (lost := sorted(await _waiting(store) - self._served)):
            number = counted(len(lost), "task waits", "tasks wait")
            raise UnservedTasksError(
                f"{number} in memory and will be lost at the end of this block (the first: {lost[0]}); no `working` "
                "block has served them; enter `broker.working(handler)`, name a store (REDIS_URL), or cancel them"
            )


async def _waiting(store: Store) -> set[str]:
    found, cursor = set[str](), ""
    while True:
        page = await store.tasks(Wanted(states=WAITING), PAGE, cursor)
        found |= {record.task_id for record in page.tasks}
        if not (cursor := page.cursor):
            return found


MEMORY_POLL = 0.1  # seconds after which a worker beside a store in memory sees a delayed task
GATES_AT_ONCE, LOOK_EVERY = 100, 1.0  # handlers without a worker that one look checks; seconds between looks
DRAIN = 10.0  # seconds for running tasks when a `working` block ends


def create_broker(
    settings: Settings | None = None,
    /,
    *,
    type: str | None = None,  # noqa: A002 - the keyword's documented name
    redis_url: str | None = None,
    queue_name: str | None = None,
    max_connections: int | None = None,
    handlers: Handlers[Any, Any] | None = None,
    retries: SubmitRetries | None = None,
) -> Broker:
    """Make a broker, to be entered with `async with`, from settings or from keywords. Without settings, the keywords,
    the environment and the settings files count.

    `type` is `redis` or `memory`. If nothing names the type, a URL or a host means Redis. With nothing set, the broker
    uses the store of the worker that runs the caller. Outside of a worker it uses the store of the supervisor in the
    runtime folder, else memory. `handlers` and `retries` are passed to the TaskManager; without `retries` the settings
    count (`submit_attempts` …). Raises ConfigError, which is a ValueError, for an unknown type, for Redis without URL
    or host, for settings and keywords at once; MissingPackageError, also a ValueError, if a package is missing;
    InvalidTaskError for settings, handlers or retries of another type.
    """
    if settings is not None and not isinstance(settings, Settings):  # pyright: ignore[reportUnnecessaryIsInstance]  # callers need not be typed
        raise InvalidTaskError(f"settings {shown(settings)}: Settings are expected, for example load()")
    check_parts(retries, handlers)
    keywords = {
        "scheduler_type": type,
        "redis_url": redis_url,
        "queue_name": queue_name,
        "redis_max_connections": max_connections,
    }
    set_fields = {field for field, value in keywords.items() if value is not None}
    if settings is None:
        from holdfast_config import load

        settings = load(keywords)
    elif any(value is not None for value in keywords.values()):
        raise ConfigError(["create_broker takes settings or keywords, not both: put the keywords into the settings"])
    else:
        set_fields = set(settings.model_fields_set)
    return Broker(settings, handlers, retries, set_fields, in_memory=names_memory(settings))


class Broker:
    """Access to one store, open while its `async with` block runs. `manager` submits and reads tasks; `store` is the
    store that `manager` uses. `in_memory`: True if the store is in memory. Before the block it is also True if the
    settings do not say which store to use."""

    manager: TaskManager
    store: Store

    def __init__(
        self,
        settings: Settings,
        handlers: Handlers[Any, Any] | None,
        retries: SubmitRetries | None,
        set_fields: Collection[str],
        *,
        in_memory: bool | None,
    ) -> None:
        self.in_memory = in_memory is not False
        self._given, self._set_fields, self._chosen = settings, set_fields, in_memory
        self._settings = settings
        self._handlers = handlers
        self._retries = retries
        self._stack = AsyncExitStack()
        self._unserved = UnservedTasks()
        if in_memory:
            need_memory()

    async def __aenter__(self) -> Self:
        """Open the store. Raises StoreUnavailableError, with the URL, if Redis does not answer."""
        source = await find_source(self._given, self._set_fields, in_memory=self._chosen)
        self._settings, self.in_memory = source.settings, source.in_memory
        async with AsyncExitStack() as stack:
            self.store = await stack.enter_async_context(source.opening)
            await self.store.ping_for_submits()
            self._stack = stack.pop_all()
        source.announce()
        self._unserved = UnservedTasks(source.private)
        self.manager = source.manager(self.store, self._retries, self._handlers)
        self._entered = manager_in_scope.enter(self.manager, self._settings.queue_name)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close the store. Raises UnservedTasksError if tasks wait in a private store in memory and no `working` block
        has served them."""
        manager_in_scope.leave(self._entered)
        try:
            if error is None:
                await self._unserved.check(self.store)
        finally:
            await self._stack.__aexit__(kind, error, traceback)

    @asynccontextmanager
    async def working(
        self,
        handler: Callable[..., Any] | Handlers[Any, Any] | Provider,
        *,
        workers: int = 1,
        drain_timeout: float = DRAIN,
    ) -> AsyncGenerator[None]:
        """Run tasks with this function or registry in this process, as `supervisor start` would, while the block runs.

        At the end of the block, running tasks have `drain_timeout` seconds to finish, and waiting tasks stay in the
        store. If the block raises, the workers end at once. Attempts, retries and time limits are those of the broker's
        settings. Raises HandlerError and InvalidTaskError.
        """
        from holdfast.worker.in_process import open_worker  # a producer needs none of it

        slots = range(check_workers(workers))
        check_seconds("drain_timeout", drain_timeout)
        changed: dict[str, object] = {"drain_timeout": drain_timeout}
        if self.in_memory:
            changed["redis_poll_timeout"] = MEMORY_POLL
        settings = self._settings.model_copy(update=changed)
        chosen = handler_from(handler, getattr(handler, "__name__", "the handler"), settings)
        settings = settled(chosen, settings, may_choose=True)
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._unserved.note_served, self.store)
            for slot in slots:
                beside = [self._fire, self._give_up] if self.in_memory and slot == 0 else []
                await stack.enter_async_context(open_worker(self.store, chosen, settings, slot, beside))
            yield

    async def _fire(self) -> None:
        """Create the tasks of due schedules; never returns. A store in memory has no steward that would create them."""
        from holdfast.client.schedule_fire import ScheduleFirer

        firing = ScheduleFirer(self.store, self._settings.queue_name, self._settings.max_message_bytes)
        while True:
            following = await firing.round()
            longest = self._settings.scan_interval
            await self.store.wait_fires(longest if following is None else min(following, longest))

    async def _give_up(self) -> None:
        """Fail tasks that have waited too long for a handler that no worker has; never returns. A store in memory has
        no steward that would fail them."""
        while True:
            await self.store.unserved(round(self._settings.unknown_handler_timeout * 1000), GATES_AT_ONCE)
            await anyio.sleep(LOOK_EVERY)
