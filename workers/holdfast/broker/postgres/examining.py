"""What an operator should know of the database. Changes nothing."""

from __future__ import annotations

from holdfast.broker.postgres import migrating
from holdfast.broker.postgres.database import Database
from holdfast.core.facts import DatabaseFacts

_TABLES = ("holdfast_queues", "holdfast_tasks", "holdfast_turns", "holdfast_requests", "holdfast_facts")
_SERVER = (
    "SELECT current_setting('server_version') AS server, current_user::text AS who, pg_is_in_recovery() AS standby"
)
_LACKING = """
SELECT may || ' on ' || name
FROM unnest($1::text[]) AS name, unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS may
WHERE to_regclass(name) IS NOT NULL AND NOT has_table_privilege(name, may) ORDER BY 1"""


async def examine(database: Database) -> DatabaseFacts:
    """LedgerUnavailableError or StoreRefusedError where it lets nobody in."""
    async with database.transaction() as sql:
        server = await sql.fetchrow(_SERVER)
        lacking = await sql.fetch(_LACKING, list(_TABLES))
    return DatabaseFacts(
        database.url,
        server["server"],
        server["who"],
        await migrating.version(database),
        migrating.newest(),
        tuple(row[0] for row in lacking),
        server["standby"],
    )
