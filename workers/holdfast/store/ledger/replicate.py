"""Replicates Redis to PostgreSQL: one round of a steward's duty, in one transaction.

While Redis has lost nothing, a round reads the events since the last round. The round writes the present state of the
tasks that these events name, and notes the position of the last event. Either all of this is written, or nothing. Then
the round gives Redis the requests that still wait. Any steward may do the next round; the steward that holds the lock
on the queue's row does this round.

Redis may lose data: it was flushed, replaced, restarted empty, or set back to an earlier moment. A Redis that the
ledger follows holds the ledger's epoch, and still has the last event that was read. If either is missing, a new epoch
begins, and Redis is rebuilt: see `rebuild`. If Redis was set back to exactly the last event that was read, no loss
shows. But the requests for the lost changes are still in PostgreSQL, because their effect was never read. Once a
second, requests without an effect are given again.
"""

from __future__ import annotations

from time import monotonic
from typing import Any

from holdfast.core.counts import KeptTask, LedgerStatus, RebuildPhase
from holdfast.errors import LedgerUnavailableError, StoreRefusedError, StoreUnavailableError
from holdfast.os.kill_points import Point, reached
from holdfast.store.ledger import change_requests, deliver
from holdfast.store.ledger.database import Database
from holdfast.store.ledger.rebuild import Ingestion, Rebuild
from holdfast.store.ledger.tables import queues, requests
from holdfast.store.ledger.tables.queues import Queue
from holdfast.store.redis.connection import RedisPart, Value
from holdfast.store.redis.ledger import ELSEWHERE, EventPage, Memory, RedisLedger

EVENTS = 500  # ingested in one round
LOOK = 1.0  # seconds between two looks for requests that were given and whose effect does not come


class Replication:
    """Replicates one Redis to PostgreSQL, round by round. `redis`: this Redis."""

    def __init__(self, queue: str, database: Database, redis: RedisLedger) -> None:
        self._name = queue
        self._database = database
        self._redis = redis
        self._ingesting = Ingestion(queue, redis)
        self._rebuilding = Rebuild(queue, database.url, redis, self._ingesting)
        self._last: Queue | None = None
        self._looked = 0.0

    async def round(self) -> KeptTask:
        """Do the next step, unless another steward does it. While PostgreSQL is away, workers go on, and this method
        only checks if Redis has lost data since the last round."""
        try:
            return await self._round()
        except LedgerUnavailableError:
            if self._last is not None and self._last.is_followed:
                await self._redis.confirm(self._last.epoch, self._last.seen)
            raise

    async def _round(self) -> KeptTask:
        async with self._database.transaction() as sql:
            queue = await queues.lock(sql, self._name) or await self._begun(sql)
            if queue is None:
                return KeptTask(busy=True)
            after, more = await self._step(sql, queue)
            if after != queue:
                await queues.write(sql, self._name, after)
            reached(Point.INGESTING)
        self._last = after
        if after != queue:
            reached(Point.INGESTED)
        return KeptTask(more=more or not after.is_followed, rebuilding=not after.is_followed)

    async def _begun(self, sql: Any) -> Queue | None:
        """Make the row of a queue that is new to this database. None if another steward has made the row."""
        if (row := await queues.read(sql, self._name)) is not None:
            self._last = row
            return None
        if await self._redis.owner():
            raise self._stranger()
        await queues.make(sql, self._name, queues.first_epoch())
        return await queues.lock(sql, self._name)

    async def read_until(self, sql: Any) -> int:
        """The moment (Redis's clock, ms) up to which the ledger has read all events; 0 if it is unknown."""
        queue = await queues.read(sql, self._name)
        if queue is None or not queue.is_followed:
            return 0
        look = await self._redis.follow(queue.epoch, queue.position, queue.seen, 1)
        if look.word is not Memory.OK:
            return 0
        return queue.position_ms if look.ids or look.more else look.now_ms

    async def standing(self, sql: Any) -> LedgerStatus:
        """The ledger's status, for operators."""
        waiting = await requests.count(sql, self._name)
        queue = await queues.read(sql, self._name)
        if queue is None:
            return LedgerStatus(RebuildPhase.NOT_BEGUN, 0, waiting, 0, 0)
        last = await self._redis.dump([])
        behind = last.now_ms - queue.position_ms if last.last and last.last != queue.position else 0
        return LedgerStatus(queue.phase, behind, waiting, queue.losses, queue.restored)

    async def check_owner(self) -> None:
        """Raise StoreRefusedError if this Redis belongs to another ledger."""
        async with self._database.transaction() as sql:
            queue = await queues.read(sql, self._name)
        owner = await self._redis.owner()
        if owner and (queue is None or (queue.is_followed and queue.is_stranger(owner))):
            raise self._stranger()

    def next_event(self, key: str, seconds: float) -> tuple[str | int, ...]:
        """The Redis command that blocks until there is an event that the ledger has not read."""
        wait = ("COUNT", 1, "BLOCK", max(1, round(seconds * 1000)))
        return ("XREAD", *wait, "STREAMS", key, (self._last.position if self._last else "") or "0-0")

    def _stranger(self) -> StoreRefusedError:
        return StoreRefusedError(
            f"queue {self._name} in Redis is kept by another database than PostgreSQL at {self._database.url}: "
            "is DATABASE_URL right? If this one is to take over, run `supervisor db adopt`"
        )

    async def _step(self, sql: Any, queue: Queue) -> tuple[Queue, bool]:
        if queue.is_followed:
            return await self._follow(sql, queue)
        return await self._rebuilding.step(sql, queue), True

    async def _follow(self, sql: Any, queue: Queue) -> tuple[Queue, bool]:
        look = await self._redis.follow(queue.epoch, queue.position, queue.seen, EVENTS)
        match look.word:
            case Memory.OK:
                if look.doubted:
                    await self._redis.confirm(queue.epoch, queue.seen)
                return await self._ingest(sql, queue, look)
            case Memory.OTHER:
                raise self._stranger()
            case _:
                return await self._rebuilding.begin(sql, queue, look), True

    async def _ingest(self, sql: Any, queue: Queue, look: EventPage) -> tuple[Queue, bool]:
        after = await self._ingesting.happened(sql, queue, look)
        more = look.more
        if not look.more:
            after, more = await self._ingesting.settings(sql, after)
            if not more:
                await self._look_for_lost_requests(sql)
            await deliver.give_changes(
                sql, self._name, self._redis, queue.epoch, min_age=change_requests.PRODUCER_TIMEOUT
            )
        gave = await deliver.give(sql, self._name, self._redis, queue.epoch)
        return after, more or gave

    async def _look_for_lost_requests(self, sql: Any) -> None:
        if monotonic() - self._looked >= LOOK:
            await requests.give_lost_again(sql, self._name, LOOK)
            self._looked = monotonic()


# Shared by the parts of a store with a ledger.


class RebuildingError(StoreUnavailableError):
    """Redis has lost data, and its rebuild from the ledger is not over."""

    def __init__(self) -> None:
        super().__init__(
            "Redis is being rebuilt from PostgreSQL: tasks that have ended can be retried and deleted after that"
        )


def followed(queue: Queue | None) -> Queue:
    """The row of this queue, unchanged. Raises RebuildingError if the ledger does not follow the queue's Redis now."""
    if queue is None or not queue.is_followed:
        raise RebuildingError
    return queue


def epoch_of(queue: Queue | None) -> str:
    """The epoch of the Redis that may get requests; empty while the ledger follows no Redis."""
    return queue.epoch if queue is not None and queue.is_followed else ""


class LedgerPart(RedisPart):
    """The base class of the parts of the store that also use PostgreSQL. PostgresStore makes the objects that they
    share."""

    database: Database
    redis_ledger: RedisLedger
    _replication: Replication
    _last_row: Queue | None = None

    async def _row(self) -> Queue | None:
        """The queue's row in PostgreSQL; while PostgreSQL is away, the row as it was last read. None if the queue has
        no row yet."""
        try:
            async with self.database.transaction() as sql:
                self._last_row = await queues.read(sql, self._keys.queue)
        except LedgerUnavailableError:
            if self._last_row is None:
                raise
        return self._last_row

    async def _epoch(self, sql: Any) -> str:
        return epoch_of(await queues.read(sql, self._keys.queue))

    async def _run_followed(self, operation: str, *args: Value) -> Any:
        """Run an operation only if Redis has lost no data. A Redis that has lost data might not have the last
        changes."""
        queue = followed(await self._row())
        answer = await self.redis_ledger.behind(queue.epoch, queue.seen, operation, *args)
        if answer == ELSEWHERE:
            raise RebuildingError
        return answer
