"""The store of a queue whose tasks PostgreSQL keeps: changes are written to PostgreSQL first, then given to Redis."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from holdfast.core.store_info import ReplicationInfo
from holdfast.core.tasks import LedgerStatus
from holdfast.store.ledger.change_requests import FollowedQueue
from holdfast.store.ledger.database import Database
from holdfast.store.ledger.migrate import LedgerServer
from holdfast.store.ledger.producer import LedgerProducer, WriteAhead
from holdfast.store.ledger.replicate import Replication
from holdfast.store.ledger.schedules import LedgerSchedules
from holdfast.store.ledger.tables import queues
from holdfast.store.ledger.tasks import LedgerTasks
from holdfast.store.parts import ComposedStore
from holdfast.store.redis import RedisStore
from holdfast.store.redis.hosts import RedisHosts
from holdfast.store.redis.lanes import RedisLanes
from holdfast.store.redis.ledger import RedisLedger
from holdfast.store.redis.schedules import RedisSchedules
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings


class PostgresStore(ComposedStore):
    """Implements `holdfast.store.protocol.Store` and `Ledger`: a Redis store, and PostgreSQL, which keeps its tasks.

    `replaced`: as for RedisStore.
    """

    def __init__(
        self, settings: RedisSettings, database: PostgresSettings, replaced: Mapping[str, str] | None = None
    ) -> None:
        self.redis = redis = RedisStore(settings, replaced)
        self.connection = connection = redis.connection
        self.database = Database(database)
        self.redis_ledger = redis_ledger = RedisLedger(connection)
        self._queue = queue = FollowedQueue(settings.queue, self.database)
        self._replication = replication = Replication(settings.queue, self.database, redis_ledger)
        self.keep = replication.round
        write_ahead = WriteAhead(queue, redis_ledger, connection.run, replication.round)
        schedules = RedisSchedules(connection, write_ahead.run)
        remember_ms = round(database.keep * 1000)
        parts = replace(
            redis.parts,
            server=LedgerServer(redis.parts.server, self.database, replication),
            producer=LedgerProducer(queue, redis, redis_ledger, settings.max_pending_messages),
            tasks=LedgerTasks(queue, redis, redis_ledger, replication, remember_ms),
            lanes=RedisLanes(connection, write_ahead.run),
            hosts=RedisHosts(connection, write_ahead.run),
            schedules=LedgerSchedules(queue, connection, schedules),
        )
        super().__init__(parts)

    @property
    def url(self) -> str:
        """The URL of Redis, without the password."""
        return self.redis.url

    async def news(self, seconds: float) -> None:
        await self.connection.block(seconds, *self._replication.next_event(self.connection.keys.events, seconds))

    async def ledger(self) -> LedgerStatus:
        async with self.database.transaction() as sql:
            return await self._replication.standing(sql)

    async def following(self) -> ReplicationInfo:
        """The ledger's status, the epoch that it follows and the one that this Redis has; for the doctor."""
        redis_ledger = self.redis_ledger
        async with self.database.transaction() as sql:
            ledger, queue = await self._replication.standing(sql), await queues.read(sql, self._queue.name)
        epoch = queue.epoch if queue else ""
        owner = await redis_ledger.owner()
        followed = "" if queues.is_earlier(owner, epoch) else owner
        return ReplicationInfo(ledger, epoch, followed or await redis_ledger.rebuilding())

    async def disown(self) -> None:
        """Make this Redis nobody's: the next steward treats it as one that has lost data."""
        await self.redis_ledger.disown()

    async def aclose(self) -> None:
        await self.redis.aclose()
        await self.database.aclose()
