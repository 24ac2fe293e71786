"""Connections of one process to PostgreSQL: made when first used, never used across a fork."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import Any

import anyio

from holdfast.store.ledger.driver import asyncpg
from holdfast.store.ledger.error_mapping import explained
from holdfast_config.postgres_settings import PostgresSettings

CLOSE_TIMEOUT = 1.0  # seconds
# A transaction whose process was stopped must not hold up others for ever.
_SESSION = {"application_name": "holdfast", "idle_in_transaction_session_timeout": "30000"}  # milliseconds


class Database:
    """`transaction` gives a connection whose work is committed or rolled back as a whole; raises only errors of our
    tree."""

    def __init__(self, settings: PostgresSettings) -> None:
        self._settings = settings
        self._pool: Any = None
        self._making = anyio.Lock()

    @property
    def url(self) -> str:
        """The URL without the password."""
        return self._settings.masked_url

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Any, None]:
        with explained(self.url):
            pool = await self._opened()
            async with pool.acquire(timeout=self._settings.answer_timeout) as connection, connection.transaction():
                yield connection

    async def _opened(self) -> Any:
        async with self._making:
            if self._pool is None:
                self._pool = await asyncpg().create_pool(
                    self._settings.url,
                    min_size=0,
                    max_size=self._settings.max_connections,
                    timeout=self._settings.connect_timeout,
                    command_timeout=self._settings.answer_timeout,
                    server_settings=_SESSION,
                )
        return self._pool

    async def aclose(self) -> None:
        """End the connections; errors of a server that is gone are ignored."""
        if self._pool is None:
            return
        pool, self._pool = self._pool, None
        with suppress(OSError, asyncpg().PostgresError, asyncpg().InterfaceError):
            with anyio.move_on_after(CLOSE_TIMEOUT, shield=True) as closing:
                await pool.close()
            if closing.cancelled_caught:
                pool.terminate()
