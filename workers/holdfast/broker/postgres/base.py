"""What all roles of a ledger's store share: Redis, PostgreSQL, and which Redis is followed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from holdfast.broker.postgres import queues
from holdfast.broker.postgres.asking import Asking
from holdfast.broker.postgres.database import Database
from holdfast.broker.postgres.keeping import Keeper
from holdfast.broker.postgres.queues import Phase, Queue
from holdfast.broker.redis import RedisStore
from holdfast.broker.redis.facts import FactsRole
from holdfast.core.records import Kept
from holdfast.errors import LedgerUnavailableError
from holdfast_config import RedisSettings
from holdfast_config.postgres_settings import PostgresSettings


class LedgerStore(RedisStore, FactsRole):
    """A Redis, and the PostgreSQL that keeps what it is given. `replaced`: as for RedisStore."""

    def __init__(
        self, settings: RedisSettings, database: PostgresSettings, replaced: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(settings, replaced)
        self._queue = settings.queue
        self._most_pending = settings.max_pending_messages
        self._remember_ms = round(database.keep * 1000)
        self.database = Database(database)
        self._keeper = Keeper(self._queue, self.database, self)
        self._last_seen: Queue | None = None
        asking = Asking(self._queue, self.database, self, self._connection.run, self.keep)
        self._run, self._word, self._number = asking.run, asking.word, asking.number

    async def keep(self) -> Kept:
        return await self._keeper.round()

    async def _epoch(self, sql: Any) -> str:
        """Of the Redis that may be given requests; empty where none is followed now."""
        queue = await queues.read(sql, self._queue)
        return queue.epoch if queue is not None and queue.phase is Phase.FOLLOWING else ""

    async def _followed(self) -> Queue | None:
        """How far the ledger has come, as far as it can be asked; None while it follows no Redis."""
        try:
            async with self.database.transaction() as sql:
                self._last_seen = await queues.read(sql, self._queue)
        except LedgerUnavailableError:
            if self._last_seen is None:
                raise
        queue = self._last_seen
        return queue if queue is not None and queue.phase is Phase.FOLLOWING else None
