"""What all roles of a ledger's store share: Redis, PostgreSQL, and which Redis is followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.core.tasks import KeptTask
from holdfast.errors import LedgerUnavailableError
from holdfast.store.ledger.database import Database
from holdfast.store.ledger.replicate import Replication
from holdfast.store.ledger.tables import queues
from holdfast.store.ledger.tables.queues import Queue, RebuildPhase
from holdfast.store.ledger.write_ahead import WriteAhead
from holdfast.store.redis import RedisStore
from holdfast.store.redis.kept_settings import RedisKeptSettings
from holdfast_config import RedisSettings
from holdfast_config.postgres_settings import PostgresSettings


class LedgerStore(RedisStore, RedisKeptSettings):
    """A Redis, and the PostgreSQL that keeps what it is given. `replaced`: as for RedisStore."""

    def __init__(
        self, settings: RedisSettings, database: PostgresSettings, replaced: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(settings, replaced)
        self._queue = settings.queue
        self._most_pending = settings.max_pending_messages
        self._remember_ms = round(database.keep * 1000)
        self.database = Database(database)
        self._keeper = Replication(self._queue, self.database, self)
        self._last_seen: Queue | None = None
        asking = WriteAhead(self._queue, self.database, self, self._connection.run, self.keep)
        self._run, self._word, self._number = asking.run, asking.word, asking.number

    async def keep(self) -> KeptTask:
        return await self._keeper.round()

    async def _epoch(self, sql: Any) -> str:
        """Of the Redis that may be given requests; empty where none is followed now."""
        queue = await queues.read(sql, self._queue)
        return queue.epoch if queue is not None and queue.phase is RebuildPhase.FOLLOWING else ""

    async def _followed(self) -> Queue | None:
        """How far the ledger has come, as far as it can be asked; None while it follows no Redis."""
        try:
            async with self.database.transaction() as sql:
                self._last_seen = await queues.read(sql, self._queue)
        except LedgerUnavailableError:
            if self._last_seen is None:
                raise
        queue = self._last_seen
        return queue if queue is not None and queue.phase is RebuildPhase.FOLLOWING else None
