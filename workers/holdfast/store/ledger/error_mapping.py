"""Maps PostgreSQL's errors to ours, in one place."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from holdfast.errors import LedgerUnavailableError, StoreError, StoreRefusedError
from holdfast.store.ledger.driver import asyncpg

# Classes of SQLSTATE that pass by themselves: connection, resources (disk, memory, connections), an operator's
# intervention (restart, terminated), rolled back by a deadlock; and a standby, which a failover makes writable.
_PASSING = ("08", "53", "57", "40", "25006")
_REFUSING = ("28", "42501", "3D000")  # login, rights, no such database
_NO_TABLES = ("42P01", "42703", "3F000")
UPGRADE = "run `supervisor db upgrade`"


@contextmanager
def explained(url: str) -> Generator[None, None, None]:
    """Raise PostgreSQL's errors as ours; `url` without its password."""
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
        return StoreRefusedError(f"PostgreSQL at {url} does not have our tables ({text}): {UPGRADE}")
    if state == "3D000":
        return StoreRefusedError(f"PostgreSQL at {url}: {text}; create it, then {UPGRADE}")
    if state.startswith(_REFUSING):
        return StoreRefusedError(f"PostgreSQL at {url} refuses this user: {text}; check user, password and rights")
    return StoreError(f"PostgreSQL at {url} answers: {text}")
