"""Migrates the tables of PostgreSQL from the version that is there to the version that this code needs.

`supervisor start` never changes tables: its user may lack the right, and hosts that still run the earlier version would
fail. `supervisor db upgrade` changes them; an advisory lock lets only one process do so at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from holdfast.core.store_info import DatabaseInfo
from holdfast.errors import StoreRefusedError, StoreUnavailableError
from holdfast.store.ledger.database import UPGRADE, Database
from holdfast.store.ledger.replicate import LedgerPart
from holdfast.store.redis.server_check import RedisServer

_LOCK = 0x686F6C6466617374  # "holdfast"
_TABLE = """
CREATE TABLE IF NOT EXISTS holdfast_schema (
    version integer PRIMARY KEY, name text NOT NULL, applied timestamptz NOT NULL DEFAULT clock_timestamp()
)"""
_THERE = "SELECT to_regclass('holdfast_schema') IS NOT NULL"
_VERSION = "SELECT coalesce(max(version), 0) FROM holdfast_schema"


@dataclass(frozen=True, slots=True)
class Migration:
    version: int
    name: str
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All migrations, in order."""
    found = sorted(
        (entry.name, entry.read_text("utf-8"))
        for entry in files("holdfast.store.ledger.migrations").iterdir()
        if entry.name.endswith(".sql")
    )
    return tuple(Migration(int(name[:4]), name[5:-4], sql) for name, sql in found)


def newest() -> int:
    """The version that this code needs."""
    return migrations()[-1].version


async def version(database: Database) -> int:
    """The version of the tables; 0 if there are none."""
    async with database.transaction() as sql:
        return await _version(sql)


async def check(database: Database, needed: int = 0) -> None:
    """Raise StoreRefusedError unless the tables have this version (0: the version that this code needs)."""
    found, needed = await version(database), needed or newest()
    where = f"PostgreSQL at {database.url}"
    if found < needed:
        problem = f"has tables of version {found}" if found else "does not have Holdfast's tables"
        raise StoreRefusedError(f"{where} {problem}, but this Holdfast needs version {needed}: {UPGRADE}")
    if found > needed:
        raise StoreRefusedError(
            f"{where} has tables of version {found}, but this Holdfast knows only {needed}: upgrade Holdfast"
        )


async def upgrade(
    database: Database,
    on_step: Callable[[int, int], object] = lambda done, of: None,
    known: Sequence[Migration] = (),
) -> tuple[Migration, ...]:
    """Run all missing migrations in one transaction; returns the migrations that were run. If two processes call this,
    the second waits, and then finds none left to run. `on_step(done, total)` is called before each migration and after
    the last. `known` replaces the migrations of this code."""
    async with database.transaction() as sql:
        await sql.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")
        await sql.execute(_TABLE)
        before = await sql.fetchval(_VERSION)
        missing = tuple(each for each in known or migrations() if each.version > before)
        for number, each in enumerate(missing):
            on_step(number, len(missing))
            await sql.execute(each.sql, timeout=None)
            await sql.execute("INSERT INTO holdfast_schema (version, name) VALUES ($1, $2)", each.version, each.name)
        on_step(len(missing), len(missing))
        return missing


async def _version(sql: Any) -> int:
    return int(await sql.fetchval(_VERSION)) if await sql.fetchval(_THERE) else 0


# Inspects the database for an operator; changes nothing.

_TABLES = [f"holdfast_{name}" for name in ("queues", "tasks", "turns", "requests", "facts", "removals")]
_SERVER = (
    "SELECT current_setting('server_version') AS server, current_user::text AS who, pg_is_in_recovery() AS standby"
)
_LACKING = """
SELECT may || ' on ' || name
FROM unnest($1::text[]) AS name, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS may
WHERE to_regclass(name) IS NOT NULL AND NOT has_table_privilege(name, may) ORDER BY 1"""


async def examine(database: Database) -> DatabaseInfo:
    """The state of the database. Raises LedgerUnavailableError if PostgreSQL is away, and StoreRefusedError if the
    login fails."""
    async with database.transaction() as sql:
        server = await sql.fetchrow(_SERVER)
        lacking = await sql.fetch(_LACKING, _TABLES)
    return DatabaseInfo(
        database.url,
        server["server"],
        server["who"],
        await version(database),
        newest(),
        tuple(row[0] for row in lacking),
        server["standby"],
    )


# Checks that Redis and PostgreSQL can be used together.


class LedgerServer(LedgerPart, RedisServer):
    """Checks Redis first, then PostgreSQL."""

    async def ping(self) -> None:
        await super().ping()
        await self._ping_database()

    async def ping_for_submits(self) -> None:
        with suppress(StoreUnavailableError):  # PostgreSQL accepts tasks while Redis is away
            await super().ping()
        await self._ping_database()

    async def _ping_database(self) -> None:
        async with self.database.transaction() as sql:
            await sql.execute("SELECT 1")

    async def preflight(self, lanes: Sequence[str] = ()) -> None:
        await super().preflight(lanes)
        await check(self.database)
        await self._replication.check_owner()
