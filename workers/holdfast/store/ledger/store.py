"""The store of a queue whose tasks PostgreSQL keeps: changes are written to PostgreSQL first, then given to Redis."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from holdfast.core.counts import LedgerStatus
from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import Due, FireOrder, Retired
from holdfast.core.store_info import ReplicationInfo
from holdfast.errors import LedgerUnavailableError, StoreUnavailableError
from holdfast.store.ledger.change_requests import FollowedQueue
from holdfast.store.ledger.database import Database
from holdfast.store.ledger.migrate import LedgerServer
from holdfast.store.ledger.producer import LedgerProducer, WriteAhead
from holdfast.store.ledger.replicate import Replication
from holdfast.store.ledger.tables import queues, tasks
from holdfast.store.ledger.tables.queues import Queue
from holdfast.store.ledger.tasks import LedgerTasks
from holdfast.store.parts import ComposedStore
from holdfast.store.redis import RedisStore
from holdfast.store.redis.connection import Connection, Value
from holdfast.store.redis.hosts import RedisHosts
from holdfast.store.redis.lanes import RedisLanes
from holdfast.store.redis.ledger import ELSEWHERE, RedisLedger
from holdfast.store.redis.schedules import RedisSchedules, found_due, halts_of, packed_orders
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings

# Schedules: only a Redis that has lost nothing may fire them, and no fire whose task is known is made again.

AGAIN_MS = 1000  # the wait while Redis is rebuilt


class LedgerSchedules:
    """The calls about schedules. `schedules`: those of Redis, with changes written to PostgreSQL first."""

    def __init__(self, queue: FollowedQueue, connection: Connection, schedules: RedisSchedules) -> None:
        self._queue = queue
        self._connection = connection
        self._schedules = schedules
        self.put_schedule = schedules.put_schedule
        self.schedules_soon = schedules.schedules_soon
        self.set_schedule_aside = schedules.set_schedule_aside
        self.pause_schedule = schedules.pause_schedule
        self.resume_schedule = schedules.resume_schedule
        self.remove_schedule = schedules.remove_schedule
        self.schedule = schedules.schedule
        self.schedules = schedules.schedules
        self.schedules_of = schedules.schedules_of
        self.undeclared_schedules = schedules.undeclared_schedules
        self.schedule_history = schedules.schedule_history
        self.wait_fires = schedules.wait_fires
        self.clock_ms = schedules.clock_ms

    async def due_schedules(self, limit: int, scope: HaltScope | None = None) -> Due:
        """The due schedules. None while Redis differs from the ledger, because it might hold a removed schedule."""
        queue = await self._queue.read()
        found = None if queue is None else await self._behind("schedule_due", queue, limit, *halts_of(scope))
        return Due(await self.clock_ms(), (), AGAIN_MS) if found is None else found_due(found)

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[str]:
        """Make fires. A fire whose task the ledger knows is not made again; none is made while Redis differs from the
        ledger."""
        queue = await self._queue.read()
        with suppress(LedgerUnavailableError):
            orders = await self._marked(orders)
        halts = halts_of(scope)
        answers = (
            None
            if queue is None
            else await self._behind("schedule_fire", queue, packed_orders(orders, self._connection.keys), *halts)
        )
        if answers is not None:
            return [answer.decode() for answer in answers]
        if any(order.kind == "extra" for order in orders):
            raise StoreUnavailableError("Redis is being rebuilt from PostgreSQL: a schedule can be run after that")
        return ["stale"] * len(orders)

    async def retire_schedules(self, seen: str, limit: int) -> Retired:
        """Remove undeclared schedules; none while Redis differs from the ledger, because the rebuild would put them
        back after the removal."""
        return Retired("") if await self._queue.read() is None else await self._schedules.retire_schedules(seen, limit)

    async def _behind(self, operation: str, queue: Queue, *args: Value) -> Any:
        """The answer of an operation that only a Redis without losses may run; None if Redis has lost data."""
        answer = await self._connection.run_behind("followed", operation, *args, queue.epoch, queue.seen)
        return None if answer == ELSEWHERE else answer

    async def _marked(self, orders: Sequence[FireOrder]) -> list[FireOrder]:
        ids = [fire.task.task_id for order in orders for fire in order.fires]
        async with self._queue.database.transaction() as sql:
            known = await tasks.known(sql, self._queue.name, ids)
        return [
            replace(order, fires=tuple(replace(fire, is_made=fire.task.task_id in known) for fire in order.fires))
            for order in orders
        ]


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
