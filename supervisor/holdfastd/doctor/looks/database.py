"""Examining PostgreSQL, and how it stands to Redis, within bounds."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TypeVar

import anyio

from holdfast.core.store_info import DatabaseInfo, ReplicationInfo
from holdfast.errors import LedgerUnavailableError, StoreError
from holdfast_config import RedisSettings
from holdfast_config.postgres_settings import PostgresSettings

WITHIN = 8.0  # seconds for each of the two

T = TypeVar("T")
Seen = tuple[DatabaseInfo | StoreError, ReplicationInfo | StoreError | None]


def examine(redis: RedisSettings, database: PostgresSettings) -> Seen:
    """What PostgreSQL says of itself; and, where its tables are as they should be, how it and Redis stand."""
    return anyio.run(_examine, redis, database, backend_options={"use_uvloop": True})


async def _examine(redis: RedisSettings, database: PostgresSettings) -> Seen:
    try:
        from holdfast.store.ledger import PostgresStore  # its driver is an extra
        from holdfast.store.ledger.inspect import examine as ask

        store = PostgresStore(redis, database)
    except StoreError as error:
        return error, None
    try:
        facts = await _bounded(ask(store.database), database.masked_url)
        usable = isinstance(facts, DatabaseInfo) and facts.tables == facts.needed and not facts.lacking
        return facts, await _bounded(store.following(), redis.masked_url) if usable else None
    finally:
        await store.aclose()


async def _bounded(answer: Awaitable[T], where: str) -> T | StoreError:
    try:
        with anyio.fail_after(WITHIN):
            return await answer
    except StoreError as error:
        return error
    except TimeoutError:
        return LedgerUnavailableError(f"{where} does not answer within {WITHIN:g} s")
