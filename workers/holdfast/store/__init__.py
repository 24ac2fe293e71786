"""Stores of tasks: one protocol, three stores (Redis, Redis with PostgreSQL, memory)."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.protocol import Store
    from holdfast_config import RedisSettings
    from holdfast_config.store_settings import PostgresSettings


@asynccontextmanager
async def open_store(settings: RedisSettings, database: PostgresSettings | None = None) -> AsyncGenerator[Store, None]:
    """Open a store over Redis; its connections are made when first used and closed at the end.

    With `database` PostgreSQL keeps its tasks, too: producers and stewards pass it, workers do not need it. In a test
    it is the store that stands in for all others.
    """
    from holdfast.store.current_store import substitute

    if (standing_in := substitute(settings.queue)) is not None:
        yield standing_in
        return
    store = make_store(settings, database)
    try:
        yield store
    finally:
        await store.aclose()


def make_store(settings: RedisSettings, database: PostgresSettings | None = None) -> Store:
    """Make a store as `open_store` does; the caller ends it with `aclose`."""
    if database is not None:
        from holdfast.store.ledger import PostgresStore

        return PostgresStore(settings, database)
    from holdfast.store.redis import RedisStore

    return RedisStore(settings)
