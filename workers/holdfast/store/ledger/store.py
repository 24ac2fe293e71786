"""The store of a queue whose tasks PostgreSQL keeps: the ledger beside Redis.

Rule 1. Redis alone decides who runs a task. The ledger never claims, settles or fires.

Rule 2. What a producer or an operator asks for is accepted once PostgreSQL has it. Then it is given to Redis; while
that fails the steward gives it later, in the order of acceptance.

Rule 3. The ledger learns of outcomes from Redis, by the events stream. About a task that both know, the later state
counts.

Rule 4. A Redis that has lost data is rebuilt from the ledger before its schedules fire. A fire whose task the ledger
knows is not made again.

Theory of operation. `producer` writes requests ahead and gives them. `replicate` follows the events of Redis, one round
in one transaction, and finds out by the epoch and the last event whether data was lost. `rebuild` puts tasks and
settings back. `lookup` answers for tasks that Redis has forgotten. The classes here put these around the calls of a
Redis store: a change goes to PostgreSQL first, a look goes to Redis first.

Warning. What Redis has done since the last round is not in the ledger yet. If Redis loses its data then, a task that
had ended within that time runs once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from holdfast.core.counts import KeptTask, LedgerStatus
from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import Due, FireAnswer, FireOrder, Retired
from holdfast.core.store_info import ReplicationInfo
from holdfast.errors import LedgerUnavailableError, StoreUnavailableError
from holdfast.store.ledger.change_requests import FollowedQueue, LedgerPart
from holdfast.store.ledger.database import Database
from holdfast.store.ledger.migrate import LedgerServer
from holdfast.store.ledger.producer import LedgerProducer, LedgerSettings
from holdfast.store.ledger.remembered_tasks import LedgerTasks
from holdfast.store.ledger.replicate import Replication
from holdfast.store.ledger.tables import queues, tasks
from holdfast.store.ledger.tables.queues import Queue
from holdfast.store.redis import RedisStore
from holdfast.store.redis.connection import Value
from holdfast.store.redis.ledger import ELSEWHERE, RedisLedger
from holdfast.store.redis.schedules import RedisSchedules, found_due, halts_of, packed_orders
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings

# Schedules: only a Redis that has lost nothing may fire them, and no fire whose task is known is made again.

AGAIN_MS = 1000  # the wait while Redis is rebuilt


class LedgerSchedules(LedgerPart, RedisSchedules):
    """The calls about schedules that a Redis which was set back must not carry out."""

    async def due_schedules(self, limit: int, scope: HaltScope | None = None) -> Due:
        """The due schedules. None while Redis differs from the ledger, because it might hold a removed schedule."""
        queue = await self._queue.read()
        found = None if queue is None else await self._unless_lost("schedule_due", queue, limit, *halts_of(scope))
        return Due(await self.clock_ms(), (), AGAIN_MS) if found is None else found_due(found)

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[FireAnswer]:
        """Make fires. A fire whose task the ledger knows is not made again; none is made while Redis differs from the
        ledger."""
        queue = await self._queue.read()
        with suppress(LedgerUnavailableError):
            orders = await self._marked(orders)
        halts = halts_of(scope)
        answers = (
            None
            if queue is None
            else await self._unless_lost("schedule_fire", queue, packed_orders(orders, self.connection.keys), *halts)
        )
        if answers is not None:
            return [FireAnswer(answer.decode()) for answer in answers]
        if any(order.kind == "extra" for order in orders):
            raise StoreUnavailableError("Redis is being rebuilt from PostgreSQL: a schedule can be run after that")
        return [FireAnswer.STALE] * len(orders)

    async def retire_schedules(self, seen: str, limit: int) -> Retired:
        """Remove undeclared schedules; none while Redis differs from the ledger, because the rebuild would put them
        back after the removal."""
        return Retired("") if await self._queue.read() is None else await super().retire_schedules(seen, limit)

    async def _unless_lost(self, operation: str, queue: Queue, *args: Value) -> Any:
        """The answer of an operation that only a Redis without losses may run; None if Redis has lost data."""
        answer = await self.connection.run_behind("followed", operation, *args, queue.epoch, queue.seen)
        return None if answer == ELSEWHERE else answer

    async def _marked(self, orders: Sequence[FireOrder]) -> list[FireOrder]:
        ids = [fire.task.task_id for order in orders for fire in order.fires]
        async with self._queue.database.transaction() as sql:
            known = await tasks.known(sql, self._queue.name, ids)
        return [
            replace(order, fires=tuple(replace(fire, is_made=fire.task.task_id in known) for fire in order.fires))
            for order in orders
        ]


class PostgresStore(LedgerServer, LedgerProducer, LedgerSettings, LedgerTasks, LedgerSchedules, RedisStore):
    """A Redis store, and PostgreSQL, which keeps its tasks. LedgerUnavailableError: PostgreSQL is away.

    `replaced`: as for RedisStore.
    """

    def __init__(
        self, settings: RedisSettings, database: PostgresSettings, replaced: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(settings, replaced)
        self.database = Database(database)
        self.redis_ledger = RedisLedger(self.connection)
        self._queue = FollowedQueue(settings.queue, self.database)
        self._replication = Replication(settings.queue, self.database, self.redis_ledger)
        self._remember_ms = round(database.keep * 1000)
        self._most_pending = settings.max_pending_messages
        self._change_setting = self._write_ahead
        self._change_ended = self._change_followed

    @property
    def with_ledger(self) -> PostgresStore:
        return self

    async def keep(self) -> KeptTask:
        """One round of replication from Redis to PostgreSQL; any steward may do the next one."""
        return await self._replication.round()

    async def news(self, seconds: float) -> None:
        """Block until there is an event that was not replicated, at most this many seconds."""
        await self.connection.block(seconds, *self._replication.next_event(self.connection.keys.events, seconds))

    async def ledger(self) -> LedgerStatus:
        """How far PostgreSQL has followed Redis, and what it has put back."""
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
        await super().aclose()
        await self.database.aclose()
