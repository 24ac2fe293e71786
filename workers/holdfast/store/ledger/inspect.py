"""Inspects the database for an operator; changes nothing."""

from __future__ import annotations

from holdfast.core.store_info import DatabaseInfo
from holdfast.store.ledger import migrate
from holdfast.store.ledger.database import Database

_TABLES = (
    "holdfast_queues",
    "holdfast_tasks",
    "holdfast_turns",
    "holdfast_requests",
    "holdfast_facts",
    "holdfast_removals",
)
_SERVER = (
    "SELECT current_setting('server_version') AS server, current_user::text AS who, pg_is_in_recovery() AS standby"
)
_LACKING = """
SELECT may || ' on ' || name
FROM unnest($1::text[]) AS name, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS may
WHERE to_regclass(name) IS NOT NULL AND NOT has_table_privilege(name, may) ORDER BY 1"""


async def examine(database: Database) -> DatabaseInfo:
    """The state of the database. LedgerUnavailableError or StoreRefusedError where the login fails."""
    async with database.transaction() as sql:
        server = await sql.fetchrow(_SERVER)
        lacking = await sql.fetch(_LACKING, list(_TABLES))
    return DatabaseInfo(
        database.url,
        server["server"],
        server["who"],
        await migrate.version(database),
        migrate.newest(),
        tuple(row[0] for row in lacking),
        server["standby"],
    )
