"""Keeping the ledger: one round of a steward's duty, in one transaction.

While all is well a round follows: it reads the events since the last one, writes the tasks that they name as they are
now, and moves the position, all or nothing; then it gives Redis the requests that still wait. Any steward may do the
next round, whoever holds the queue's row does this one.

Redis may lose what it knew: flushed, replaced, restarted empty, or set back to an earlier moment. It is known by the
epoch that a followed Redis bears, and by the last event that was seen, which must still be there. Then a new epoch
begins: what the ledger has goes back page by page, each page noted when it is done; everything that Redis knows is read
once; and what was accepted since is given again. A Redis that was followed too slowly, so that events were trimmed
unread, is treated the same: what it still knows is left as it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import uuid4

import structlog

from holdfast.broker.postgres import giving, queues, requests, tasks
from holdfast.broker.postgres.database import Database
from holdfast.broker.postgres.queues import Phase, Queue
from holdfast.broker.redis.ledger import Dump, LedgerRole, Look
from holdfast.core.records import Kept, LedgerFacts
from holdfast.errors import StoreRefusedError
from holdfast.killpoints import Point, reached

EVENTS = 500  # ingested in one round
TASKS = 100  # read from Redis in one call, or put back
KEYS = 1000  # looked at in one step of a sweep

_log = structlog.get_logger("holdfast.ledger")


class Keeper:
    """`redis` is where claims are decided."""

    def __init__(self, queue: str, database: Database, redis: LedgerRole) -> None:
        self._name = queue
        self._database = database
        self._redis = redis
        self._position = ""

    async def round(self) -> Kept:
        """Do what is next, unless somebody else does."""
        async with self._database.transaction() as sql:
            queue = await queues.lock(sql, self._name) or await self._begun(sql)
            if queue is None:
                return Kept(busy=True)
            after, more = await self._step(sql, queue)
            if after != queue:
                await queues.write(sql, self._name, after)
            reached(Point.INGESTING)
        self._position = after.position
        if after != queue:
            reached(Point.INGESTED)
        return Kept(more=more or after.phase is not Phase.FOLLOWING, rebuilding=after.phase is not Phase.FOLLOWING)

    async def _begun(self, sql: Any) -> Queue | None:
        """The row of a queue that this database has not kept before; None where another steward is at it."""
        if await queues.read(sql, self._name) is not None:
            return None
        if await self._redis.owner():
            raise self._stranger()
        await queues.make(sql, self._name, uuid4().hex)
        return await queues.lock(sql, self._name)

    async def read_until(self, sql: Any) -> int:
        """What happened before this moment (Redis's clock, ms) was read; 0 while that is not known."""
        queue = await queues.read(sql, self._name)
        if queue is None or queue.phase is not Phase.FOLLOWING:
            return 0
        look = await self._redis.follow(queue.epoch, queue.position, queue.witness, 1)
        if look.word != "ok":
            return 0
        return _ms(queue.position) if look.ids or look.more else look.now_ms

    async def facts(self, sql: Any) -> LedgerFacts:
        """How the ledger stands, for operators."""
        waiting = await requests.count(sql, self._name)
        queue = await queues.read(sql, self._name)
        if queue is None:
            return LedgerFacts("not begun", 0, waiting, 0, 0)
        last = await self._redis.dump([])
        behind = last.now_ms - _ms(queue.position) if last.last and last.last != queue.position else 0
        return LedgerFacts(queue.phase, behind, waiting, queue.losses, queue.restored)

    async def check_owner(self) -> None:
        """StoreRefusedError where this Redis is another ledger's."""
        async with self._database.transaction() as sql:
            queue = await queues.read(sql, self._name)
        owner = await self._redis.owner()
        if owner and (queue is None or (queue.epoch != owner and queue.phase is Phase.FOLLOWING)):
            raise self._stranger()

    def next_event(self, key: str, seconds: float) -> tuple[str | int, ...]:
        """The command that waits for something to ingest."""
        wait = ("COUNT", 1, "BLOCK", max(1, round(seconds * 1000)))
        return ("XREAD", *wait, "STREAMS", key, self._position or "0-0")

    def _stranger(self) -> StoreRefusedError:
        return StoreRefusedError(
            f"queue {self._name} in Redis is kept by another database than PostgreSQL at {self._database.url}: "
            "is DATABASE_URL right? If this one is to take over, run `supervisor db adopt`"
        )

    async def _step(self, sql: Any, queue: Queue) -> tuple[Queue, bool]:
        match queue.phase:
            case Phase.FOLLOWING:
                return await self._follow(sql, queue)
            case Phase.CORRECTING:
                page = await tasks.ended_since(sql, self._name, queue.since_ms, queue.cursor, TASKS)
                return await self._put_back(sql, queue, page, Phase.RESTORING), True
            case Phase.RESTORING:
                page = await tasks.to_put_back(sql, self._name, queue.cursor, TASKS)
                return await self._put_back(sql, queue, page, Phase.SWEEPING), True
            case Phase.SWEEPING:
                return await self._sweep(sql, queue), True

    async def _follow(self, sql: Any, queue: Queue) -> tuple[Queue, bool]:
        look = await self._redis.follow(queue.epoch, queue.position, queue.witness, EVENTS)
        match look.word:
            case "ok":
                witness = await self._ingest(sql, look.ids)
                gave = await giving.give(sql, self._name, self._redis, queue.epoch)
                return replace(queue, position=look.position, witness=witness or queue.witness), look.more or gave
            case "other":
                raise self._stranger()
            case _:
                return await self._lost(sql, queue, look), True

    async def _ingest(self, sql: Any, task_ids: tuple[str, ...] | list[str]) -> str:
        """Write these tasks as they are; the last event there was when they were read."""
        witness = ""
        for start in range(0, len(task_ids), TASKS):
            page = task_ids[start : start + TASKS]
            dumps = await self._redis.dump(page)
            witness = dumps.last
            await tasks.keep(sql, self._name, dumps)
            await requests.confirm(sql, self._name, page)
        return witness

    async def _lost(self, sql: Any, queue: Queue, look: Look) -> Queue:
        """Redis has forgotten something: begin a new epoch."""
        await requests.give_again(sql, self._name)
        told = {"queue": self._name, "postgres": self._database.url}
        if look.word == "missed":
            _log.warning("events were trimmed before they were ingested; everything is read anew", **told)
        else:
            _log.error("REDIS HAS LOST DATA: it is rebuilt from PostgreSQL", since=look.position or "ever", **told)
        return Queue(
            epoch=uuid4().hex,
            phase=Phase.CORRECTING if look.position else Phase.RESTORING,
            cursor="",
            position="",
            witness="",
            since_ms=_ms(look.position),
            losses=queue.losses + (look.word == "lost"),
            restored=queue.restored,
        )

    async def _put_back(self, sql: Any, queue: Queue, page: tuple[list[Dump], str], following: Phase) -> Queue:
        dumps, cursor = page
        if await self._redis.rebuilding() != queue.epoch:
            if queue.cursor:  # lost again, in the midst of it
                return replace(queue, phase=Phase.RESTORING, cursor="", since_ms=0)
            await self._redis.begin_rebuild(queue.epoch)
        if not dumps:
            return replace(queue, phase=following, cursor="")
        parents = await tasks.ended_parents(sql, self._name, dumps)
        words = await self._redis.restore(queue.epoch, [*parents, *dumps])
        reached(Point.RESTORED)
        restored = words.count("restored") + words.count("merged")
        return replace(queue, cursor=cursor, restored=queue.restored + restored)

    async def _sweep(self, sql: Any, queue: Queue) -> Queue:
        if await self._redis.rebuilding() != queue.epoch:
            return replace(queue, phase=Phase.RESTORING, cursor="", since_ms=0)
        if not queue.cursor:  # what happens from here on is followed
            last = (await self._redis.dump([])).last
            queue = replace(queue, position=last, witness=last)
        cursor, ids = await self._redis.known(queue.cursor, KEYS)
        await self._ingest(sql, ids)
        if cursor:
            return replace(queue, cursor=cursor)
        await self._redis.end_rebuild(queue.epoch)
        _log.info("the ledger follows Redis", queue=self._name, put_back=queue.restored, losses=queue.losses)
        return replace(queue, phase=Phase.FOLLOWING, cursor="")


def _ms(position: str) -> int:
    return int(position.partition("-")[0]) if position else 0
