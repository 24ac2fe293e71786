"""The store of a queue whose tasks PostgreSQL keeps: the ledger beside Redis.

Rule 1. Redis alone decides who runs a task. The ledger never claims or settles a task, and never creates tasks of
schedules.

Rule 2. A request of a producer or an operator is accepted once PostgreSQL has it. Then it is given to Redis. If this
fails, the steward gives it later, in the order of acceptance.

Rule 3. The ledger learns of outcomes from Redis, by the events stream. If both have a task, the later state counts.

Rule 4. A Redis that has lost data is rebuilt from the ledger before its schedules create tasks. If the ledger already
has the task of a planned run, the task is not created again.

Theory of operation. `producer` writes requests ahead and gives them. `replicate` follows the events of Redis, one round
in one transaction, and finds out by the epoch and the last event whether data was lost. `rebuild` puts tasks and
settings back. `remembered_tasks` answers for tasks that Redis has forgotten. These classes wrap the calls of a Redis
store: a change goes to PostgreSQL first, a read goes to Redis first.

Warning. The ledger does not yet know the changes in Redis since the last round. If Redis loses its data then, a task
that had ended within that time runs once more.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

import anyio

from holdfast.core.counts import KeptTask, LedgerStatus
from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import Due, FireAnswer, FireOrder, Retired
from holdfast.core.store_info import ReplicationInfo
from holdfast.errors import LedgerUnavailableError, StoreUnavailableError
from holdfast.store.ledger.database import Database
from holdfast.store.ledger.migrate import LedgerServer
from holdfast.store.ledger.producer import LedgerRequests
from holdfast.store.ledger.remembered_tasks import LedgerTasks
from holdfast.store.ledger.replicate import LedgerPart, RebuildingError, Replication, epoch_of
from holdfast.store.ledger.tables import queues, tasks
from holdfast.store.redis import RedisStore
from holdfast.store.redis.ledger import RedisLedger
from holdfast.store.redis.schedules import RedisSchedules
from holdfast_config import RedisSettings
from holdfast_config.store_settings import PostgresSettings

# Schedules: only a Redis that has lost no data may create their tasks. A task that the ledger has is not created again.

AGAIN_MS = 1000  # the wait while Redis is rebuilt
SURELY_READ_MS = 1000  # a ledger that is less far behind has read the events before this time


class LedgerSchedules(LedgerPart, RedisSchedules):
    """The calls about schedules. Some are refused while the data in Redis may differ from the ledger."""

    async def due_schedules(self, limit: int, scope: HaltScope | None = None) -> Due:
        """The due schedules. None while Redis may differ from the ledger, because Redis might then hold a schedule that
        was removed."""
        try:
            return await super().due_schedules(limit, scope)
        except RebuildingError:
            return Due(await self.clock_ms(), (), AGAIN_MS)

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[FireAnswer]:
        """Create the tasks of due schedules. A task that the ledger already has is not created again. No task is
        created while Redis may differ from the ledger."""
        with suppress(LedgerUnavailableError):
            orders = await self._marked(orders)
        try:
            return await super().fire(orders, scope)
        except RebuildingError as error:
            if any(order.kind == "extra" for order in orders):
                text = "Redis is being rebuilt from PostgreSQL: a schedule can be run after that"
                raise StoreUnavailableError(text) from error
            return [FireAnswer.STALE] * len(orders)

    async def retire_schedules(self, seen: str, limit: int) -> Retired:
        """Remove undeclared schedules. Removes none while Redis may differ from the ledger, because the rebuild would
        put the schedules back."""
        return Retired("") if not epoch_of(await self._row()) else await super().retire_schedules(seen, limit)

    async def _marked(self, orders: Sequence[FireOrder]) -> list[FireOrder]:
        ids = [fire.task.task_id for order in orders for fire in order.fires]
        async with self.database.transaction() as sql:
            known = await tasks.known(sql, self._keys.queue, ids)
        return [
            replace(order, fires=tuple(replace(fire, is_made=fire.task.task_id in known) for fire in order.fires))
            for order in orders
        ]


class PostgresStore(LedgerServer, LedgerRequests, LedgerTasks, LedgerSchedules, RedisStore):
    """A Redis store, and PostgreSQL, which keeps its tasks. Its calls raise LedgerUnavailableError if PostgreSQL is
    away.

    `replaced`: see Connection.
    """

    with_ledger = True

    def __init__(
        self, settings: RedisSettings, database: PostgresSettings, replaced: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(settings, replaced)
        self.database = Database(database)
        self.redis_ledger = RedisLedger(self.connection)
        self._replication = Replication(settings.queue, self.database, self.redis_ledger)
        self._remember_ms = round(database.keep * 1000)
        self._most_pending = settings.max_pending_messages
        self._change_setting = self._write_ahead
        self._run_whole = self._run_followed

    async def keep(self) -> KeptTask:
        """One round of replication from Redis to PostgreSQL; any steward may do the next one."""
        return await self._replication.round()

    async def news(self, seconds: float) -> None:
        """Block until Redis has an event that was not replicated yet, but at most this many seconds."""
        await self.connection.block(seconds, *self._replication.next_event(self.connection.keys["events"], seconds))

    async def ledger(self) -> LedgerStatus:
        """The status of the ledger: how far it has followed Redis, and the number of tasks that it has put back."""
        async with self.database.transaction() as sql:
            return await self._replication.standing(sql)

    async def following(self) -> ReplicationInfo:
        """The ledger's status, the epoch that the ledger follows, and the epoch in this Redis. `supervisor doctor`
        compares them."""
        redis_ledger = self.redis_ledger
        async with self.database.transaction() as sql:
            ledger, queue = await self._replication.standing(sql), await queues.read(sql, self._keys.queue)
        epoch = queue.epoch if queue else ""
        owner = await redis_ledger.owner()
        followed = "" if queues.is_earlier(owner, epoch) else owner
        return ReplicationInfo(ledger, epoch, followed or await redis_ledger.rebuilding())

    async def missing(self, each_end: int) -> tuple[str, ...] | None:
        """The open tasks of a sample that Redis does not have: it has lost a part of its data, and no loss shows.

        None: the ledger is too far behind to tell. Redis is asked first, and the ledger again a while later, because a
        task may end and be removed before the ledger has read this.
        """
        queue = self._keys.queue
        async with self.database.transaction() as sql:
            sample = await tasks.open_sample(sql, queue, each_end)
        unknown = await self.redis_ledger.unknown(sample)
        if not unknown:
            return ()
        await anyio.sleep(SURELY_READ_MS / 1000)
        async with self.database.transaction() as sql:
            if (await self._replication.standing(sql)).behind_ms >= SURELY_READ_MS:
                return None
            return tuple(await tasks.still_open(sql, queue, unknown))

    async def disown(self) -> None:
        """Delete the ledger's epoch from this Redis. The next steward then treats this Redis like one that has lost
        data."""
        await self.redis_ledger.disown()

    async def aclose(self) -> None:
        await super().aclose()
        await self.database.aclose()
