"""Checks that Redis and PostgreSQL can be used together."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.store.ledger import migrate
from holdfast.store.ledger.database import Database
from holdfast.store.ledger.replicate import Replication
from holdfast.store.protocol import ServerStore


class LedgerServer:
    """The checks of Redis, then those of PostgreSQL."""

    def __init__(self, redis: ServerStore, database: Database, replication: Replication) -> None:
        self._redis = redis
        self._database = database
        self._replication = replication
        self.address = redis.address

    async def ping(self) -> None:
        await self._redis.ping()
        async with self._database.transaction() as sql:
            await sql.execute("SELECT 1")

    async def preflight(self, lanes: Sequence[str] = ()) -> None:
        await self._redis.preflight(lanes)
        await migrate.check(self._database)
        await self._replication.check_owner()
