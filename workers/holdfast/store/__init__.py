"""Stores of tasks behind one port."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from holdfast.store.redis import RedisStore
    from holdfast_config import RedisSettings
    from holdfast_config.postgres_settings import PostgresSettings


@asynccontextmanager
async def open_store(
    settings: RedisSettings, database: PostgresSettings | None = None
) -> AsyncGenerator[RedisStore, None]:
    """A store over Redis; its connections are made when first used and closed at the end.

    With `database` its tasks are kept in PostgreSQL, too: for producers and stewards, workers do not need it.
    """
    store = make_store(settings, database)
    try:
        yield store
    finally:
        await store.aclose()


def make_store(settings: RedisSettings, database: PostgresSettings | None = None) -> RedisStore:
    """The same, to be closed by `aclose`."""
    if database is not None:
        from holdfast.store.ledger import PostgresStore

        return PostgresStore(settings, database)
    from holdfast.store.redis import RedisStore

    return RedisStore(settings)
