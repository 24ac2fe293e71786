"""A queue as PostgreSQL knows it: the Redis that it follows, and its position there."""

from __future__ import annotations

from typing import Any

from holdfast.errors import LedgerUnavailableError
from holdfast.store.ledger.database import Database
from holdfast.store.ledger.tables import queues
from holdfast.store.ledger.tables.queues import Queue, RebuildPhase


class FollowedQueue:
    """A queue's name, the database that keeps its tasks, and the Redis that the database follows."""

    def __init__(self, name: str, database: Database) -> None:
        self.name = name
        self.database = database
        self._last_seen: Queue | None = None

    async def epoch(self, sql: Any) -> str:
        """The epoch of the Redis that may be given requests; empty while no Redis is followed."""
        return epoch_of(await queues.read(sql, self.name))

    async def read(self) -> Queue | None:
        """The queue's row, the last one seen while PostgreSQL is away; None while no Redis is followed."""
        try:
            async with self.database.transaction() as sql:
                self._last_seen = await queues.read(sql, self.name)
        except LedgerUnavailableError:
            if self._last_seen is None:
                raise
        queue = self._last_seen
        return queue if queue is not None and queue.phase is RebuildPhase.FOLLOWING else None


def epoch_of(queue: Queue | None) -> str:
    """The epoch of the Redis that this queue follows; empty while none is followed."""
    return queue.epoch if queue is not None and queue.phase is RebuildPhase.FOLLOWING else ""
