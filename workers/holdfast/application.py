"""What an application holds of its queue: one call from settings to a TaskManager, and workers beside it for tests.

async with create_broker() as broker:
    async with broker.working(handle):
        task_id = await broker.manager.run_task("hello")
        assert (await broker.manager.wait(task_id)).state == "completed"
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from typing import TYPE_CHECKING, Any

import structlog

from holdfast.arguments import check_seconds, check_workers
from holdfast.broker import open_store
from holdfast.handler.provider import Provider
from holdfast.handler.registry import Handlers
from holdfast.handler.resolve import handler_from
from holdfast.handler.taking import settled
from holdfast.making import check_parts, check_settings
from holdfast.manager import TaskManager
from holdfast.patience import Patience
from holdfast_config import ConfigError, Settings, load

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Self

    from holdfast.broker.port import Store

MEMORY_POLL = 0.1  # seconds in which a worker beside a store in memory sees that a delayed task is due
DRAIN = 10.0  # seconds for what still runs when a `working` block ends

_log = structlog.get_logger("holdfast")


def create_broker(
    settings: Settings | None = None,
    /,
    *,
    type: str | None = None,  # noqa: A002 - the keyword's documented name
    redis_url: str | None = None,
    queue_name: str | None = None,
    max_connections: int | None = None,
    handlers: Handlers | None = None,
    patience: Patience | None = None,
) -> Broker:
    """The broker of these settings, to be entered; else of the keywords, and below them of the environment and files.

    `type` is `redis` or `memory`. Where nobody says which, a URL or a host means Redis, and nothing set means memory.
    `handlers` and `patience` are the TaskManager's; without `patience` the settings say it (`submit_attempts` …).
    Raises ConfigError, which is a ValueError: an unknown type, Redis without URL or host, settings and keywords at
    once; MissingPackageError, also one, where a package is missing. Settings, handlers or patience of another
    type: InvalidTaskError.
    """
    check_settings(settings)
    check_parts(patience, handlers)
    keywords = {
        "scheduler_type": type,
        "redis_url": redis_url,
        "queue_name": queue_name,
        "redis_max_connections": max_connections,
    }
    if settings is None:
        settings = load(keywords)
    elif any(value is not None for value in keywords.values()):
        raise ConfigError(["create_broker takes settings or keywords, not both: put the keywords into the settings"])
    is_memory = _is_memory(settings)
    return Broker(settings, handlers, patience, in_memory=is_memory)


def _is_memory(settings: Settings) -> bool:
    if "scheduler_type" not in settings.model_fields_set:
        return settings.embedded
    if settings.scheduler_type == "redis" and settings.embedded:
        raise ConfigError(["scheduler_type: 'redis': needs redis_url or redis_host; leave it out to use memory"])
    return settings.scheduler_type == "memory"


class Broker:
    """A store while it is entered. `manager` submits and asks; `store` is what it stands on."""

    manager: TaskManager
    store: Store

    def __init__(
        self, settings: Settings, handlers: Handlers | None, patience: Patience | None, *, in_memory: bool
    ) -> None:
        self.in_memory = in_memory
        self._settings = settings
        self._handlers = handlers
        self._patience = patience
        self._opening = _memory(settings.queue_name) if in_memory else open_store(settings.redis, settings.postgres)
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        """Raises StoreUnavailableError, with the URL, where Redis does not answer."""
        async with AsyncExitStack() as stack:
            self.store = await stack.enter_async_context(self._opening)
            await self.store.ping()
            self._stack = stack.pop_all()
        if not self.in_memory:
            _log.info(f"Redis scheduler connected to {self._settings.redis.masked_url}")
        self.manager = TaskManager(
            self.store,
            queue=self._settings.queue_name,
            max_message_bytes=self._settings.max_message_bytes,
            patience=self._patience or Patience.of(self._settings.redis.submit),
            handlers=self._handlers,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._stack.__aexit__(kind, error, traceback)

    @asynccontextmanager
    async def working(
        self, handler: Callable[..., Any] | Handlers | Provider, *, workers: int = 1, drain_timeout: float = DRAIN
    ) -> AsyncGenerator[None]:
        """Run tasks with this function or registry in this process, as `supervisor start` would, while the block runs.

        At its end what runs has `drain_timeout` seconds, what waits stays in the store; a block that raises ends it at
        once. Attempts, retries and time limits are those of the broker's settings. Raises HandlerError and
        InvalidTaskError.
        """
        from holdfast.worker.inside import open_worker  # a producer needs none of it

        slots = range(check_workers(workers))
        check_seconds("drain_timeout", drain_timeout)
        changed: dict[str, object] = {"drain_timeout": drain_timeout}
        if self.in_memory:
            changed["redis_poll_timeout"] = MEMORY_POLL
        settings = self._settings.model_copy(update=changed)
        chosen = handler_from(handler, getattr(handler, "__name__", "the handler"), settings)
        settings = settled(chosen, settings, may_choose=True)
        async with AsyncExitStack() as stack:
            for slot in slots:
                beside = [self._fire] if self.in_memory and slot == 0 else []
                await stack.enter_async_context(open_worker(self.store, chosen, settings, slot, beside))
            yield

    async def _fire(self) -> None:
        """Make the fires of schedules when they are due, for ever: no steward looks after a store in memory."""
        from holdfast.firing import Firing

        firing = Firing(self.store, self._settings.queue_name, self._settings.max_message_bytes)
        while True:
            following = await firing.round()
            longest = self._settings.scan_interval
            await self.store.wait_fires(longest if following is None else min(following, longest))


def _memory(queue: str) -> AbstractAsyncContextManager[Store]:
    from holdfast.broker.memory import open_memory

    return open_memory(queue)
