"""Connections of one process to PostgreSQL: made when first used, never used across a fork."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import Any

import anyio

from holdfast.errors import LedgerUnavailableError, MissingPackageError, StoreError, StoreRefusedError
from holdfast_config.store_settings import PostgresSettings

# The PostgreSQL driver, imported when it is first needed: it is an extra, and most processes never need it.


@cache
def asyncpg() -> Any:
    """Import the package asyncpg; Any, because it has no types. Raises MissingPackageError, which says what to
    install."""
    try:
        return import_module("asyncpg")
    except ImportError as error:
        raise MissingPackageError(
            "storage in PostgreSQL needs the package asyncpg: pip install 'holdfast-supervisor[postgres]'"
        ) from error


# Maps PostgreSQL's errors to ours, in one place.

# Classes of SQLSTATE that pass by themselves: connection, resources (disk, memory, connections), an operator's
# intervention (restart, terminated), rolled back by a deadlock; and a standby, which a failover makes writable.
_PASSING = ("08", "53", "57", "40", "25006")
_REFUSING = ("28", "42501", "3D000")  # login, rights, no such database
_NO_TABLES = ("42P01", "42703", "3F000")
UPGRADE = "run `supervisor db upgrade`"


@contextmanager
def explained(url: str) -> Generator[None, None, None]:
    """A block that raises PostgreSQL's errors as Holdfast's errors. `url`: the address in error texts, without the
    password."""
    try:
        yield
    except asyncpg().PostgresError as error:
        raise _meaning(error, url) from error
    except (OSError, TimeoutError, asyncpg().InterfaceError, asyncpg().InternalClientError) as error:
        text = str(error) or type(error).__name__
        raise LedgerUnavailableError(f"PostgreSQL at {url} cannot be reached: {text}") from error


def _meaning(error: Exception, url: str) -> StoreError:
    state, text = str(getattr(error, "sqlstate", "") or ""), str(error)
    if state.startswith(_PASSING):
        return LedgerUnavailableError(f"PostgreSQL at {url} cannot serve now: {text}")
    if state.startswith(_NO_TABLES):
        return StoreRefusedError(f"PostgreSQL at {url} does not have Holdfast's tables ({text}): {UPGRADE}")
    if state == "3D000":
        return StoreRefusedError(f"PostgreSQL at {url}: {text}; create it, then {UPGRADE}")
    if state.startswith(_REFUSING):
        return StoreRefusedError(f"PostgreSQL at {url} refuses this user: {text}; check user, password and rights")
    return StoreError(f"PostgreSQL at {url} answers: {text}")


CLOSE_TIMEOUT = 1.0  # seconds
# A transaction whose process was stopped must not block others for ever.
_SESSION = {"application_name": "holdfast", "idle_in_transaction_session_timeout": "30000"}  # milliseconds


class Database:
    """The connections of this process to one database. `transaction` gives a connection whose work is committed or
    rolled back as a whole. All methods raise only Holdfast's errors."""

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
        """Close the connections. Errors are ignored if the server is gone."""
        if self._pool is None:
            return
        pool, self._pool = self._pool, None
        with suppress(OSError, asyncpg().PostgresError, asyncpg().InterfaceError):
            with anyio.move_on_after(CLOSE_TIMEOUT, shield=True) as closing:
                await pool.close()
            if closing.cancelled_caught:
                pool.terminate()
