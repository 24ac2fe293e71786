"""Opens stores: over Redis, or over Redis and PostgreSQL. In a test, all code gets the store of the test instead. In a
worker, handlers can get the store of the worker."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from holdfast.errors import StoreRefusedError

if TYPE_CHECKING:
    from holdfast.store.ledger import PostgresStore
    from holdfast.store.redis import RedisStore as Store
    from holdfast_config import RedisSettings, Settings
    from holdfast_config.store_settings import PostgresSettings


@asynccontextmanager
async def open_store(settings: RedisSettings, database: PostgresSettings | None = None) -> AsyncGenerator[Store, None]:
    """Open a store over Redis. Its connections are made when first used, and closed at the end.

    With `database`, PostgreSQL keeps the store's tasks, too. Producers and stewards pass it; workers do not need it. In
    a test, the test's store is returned instead.
    """
    if (standing_in := substitute(settings.queue)) is not None:
        yield standing_in
        return
    store = make_store(settings, database)
    try:
        yield store
    finally:
        await store.aclose()


def make_store(settings: RedisSettings, database: PostgresSettings | None = None) -> Store:
    """Make a store like `open_store` does. The caller must close it with `aclose`."""
    if database is not None:
        from holdfast.store.ledger import PostgresStore

        return PostgresStore(settings, database)
    from holdfast.store.redis import RedisStore

    return RedisStore(settings)


def ledger_of(store: Store) -> PostgresStore | None:
    """The store as a PostgresStore; None if PostgreSQL does not keep its tasks."""
    return cast("PostgresStore", store) if store.with_ledger else None


# The store of a test: while it is in place, all code of this process gets it instead of the store that the code names.


_standing_in: dict[int, tuple[str, Store]] = {}  # by process, because forks have their own stores: queue and store


@contextmanager
def standing_in(store: Store, queue: str) -> Generator[None]:
    """Give this store to all code of this process while the block runs. Raises StoreRefusedError inside another such
    block."""
    if substituted():
        raise StoreRefusedError("a test broker is open already; a test can have only one: use it, or close it first")
    _standing_in[os.getpid()] = (queue, store)
    try:
        yield
    finally:
        _standing_in.clear()


def substituted() -> bool:
    """True while all code of this process gets the store of a test."""
    return os.getpid() in _standing_in


def substitute(queue: str) -> Store | None:
    """The store of the running test, which is used in place of the store of this queue. None outside of a test. Raises
    StoreRefusedError if the test has another queue."""
    of_test, store = _standing_in.get(os.getpid(), (queue, None))
    if queue != of_test:
        raise StoreRefusedError(
            f"queue {queue}: the broker of this test has queue {of_test}; name the same queue in both settings"
        )
    return store


# The store of the worker that runs this code, for handlers that submit tasks themselves.
#
# A worker process has one store for all of its code, threads included. A worker inside another process has its own in
# the context of the handlers that it runs.


@dataclass(frozen=True, slots=True)
class CurrentStore:
    """The store of the worker that runs this code. `store`: the worker's store in memory, for code in the worker's
    event loop. If `store` is None, the caller opens a store from `settings`."""

    settings: Settings
    store: Store | None = None


_of_context: ContextVar[CurrentStore | None] = ContextVar("holdfast_worker_store", default=None)
_of_process: CurrentStore | None = None


def belong_to_process(settings: Settings, in_memory: Store | None = None) -> None:
    """Record that this process is a worker with these settings."""
    global _of_process
    _of_process = CurrentStore(settings, in_memory)


def belong_to_context(settings: Settings, store: Store) -> None:
    """Record that this context belongs to a worker with these settings. Asyncio tasks that are started in this context
    inherit this."""
    _of_context.set(CurrentStore(settings, store if settings.scheduler_type == "memory" else None))


def worker_store() -> CurrentStore | None:
    """The store of the worker that runs the caller; None outside of a worker."""
    return _of_context.get() or _of_process
