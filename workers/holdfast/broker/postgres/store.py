"""The store of a queue whose tasks PostgreSQL keeps: Redis, the ledger before whoever writes and behind whoever reads.

A producer's request is accepted when PostgreSQL has it. It is given to Redis at once; where that cannot be, the steward
gives it later, in order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from holdfast.broker.postgres import migrating, queues, reading, requests, tasks
from holdfast.broker.postgres.database import Database
from holdfast.broker.postgres.keeping import Keeper
from holdfast.broker.postgres.queues import Phase
from holdfast.broker.redis import RedisStore
from holdfast.broker.redis.ledger import LedgerRole
from holdfast.core.records import Accepted, Kept, LedgerFacts, Page, Submission, TaskRecord, Wanted
from holdfast.errors import LedgerUnavailableError, StoreError, StoreUnavailableError
from holdfast.killpoints import Point, reached
from holdfast_config import RedisSettings
from holdfast_config.postgres_settings import PostgresSettings

UNKNOWN = "unknown"
IN_THE_QUEUE = {Accepted.NEW, Accepted.TURN, Accepted.PENDING, Accepted.DUPLICATE}


class PostgresStore(RedisStore, LedgerRole):
    """Implements `holdfast.broker.port.Store` and `Ledger`. `replaced`: as for RedisStore."""

    def __init__(
        self, settings: RedisSettings, database: PostgresSettings, replaced: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(settings, replaced)
        self._queue = settings.queue
        self.database = Database(database)
        self._keeper = Keeper(self._queue, self.database, self)

    async def preflight(self) -> None:
        await super().preflight()
        await migrating.check(self.database)
        await self._keeper.check_owner()

    async def ping(self) -> None:
        await super().ping()
        async with self.database.transaction() as sql:
            await sql.execute("SELECT 1")

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        return await self._accept(submissions, "run")

    async def message(self, submission: Submission) -> Accepted:
        return (await self._accept([submission], "message"))[0]

    async def _accept(self, submissions: Sequence[Submission], verb: str) -> list[Accepted]:
        async with self.database.transaction() as sql:
            epoch = await self._epoch(sql)
            entries = await requests.enter(sql, self._queue, submissions, verb)
        reached(Point.WRITTEN)
        ready = [entry for entry in entries if entry.word is None and not entry.blocked]
        answers = await self._give(epoch, [entry.submission for entry in ready], verb)
        reached(Point.GIVEN)
        told = {entry.request: word for entry, word in zip(ready, answers, strict=True)} if answers else {}
        await self._mark(told)
        return [entry.word or told.get(entry.request) or _accepted(entry, verb) for entry in entries]

    async def cancel(self, task_id: str, reason: str) -> str:
        return await self._ask_for("cancel", task_id, reason)

    async def pause(self, task_id: str, reason: str) -> str:
        return await self._ask_for("pause", task_id, reason)

    async def resume(self, task_id: str, reason: str) -> str:
        return await self._ask_for("resume", task_id, reason)

    async def get(self, task_id: str, *, payloads: bool = True) -> TaskRecord | None:
        record = await super().get(task_id, payloads=payloads)
        if record is not None:
            return record
        async with self.database.transaction() as sql:
            return await reading.task(sql, self._queue, task_id, payloads=payloads)

    async def tasks(self, wanted: Wanted, limit: int, cursor: str = "") -> Page:
        """Those that Redis has, then those that have ended and that only the ledger remembers."""
        if not cursor.startswith(reading.MARK):
            page = await super().tasks(wanted, limit, cursor)
            return page if page.cursor or not reading.ended_of(wanted) else Page(page.tasks, reading.MARK)
        now_ms = await self.clock_ms()
        async with self.database.transaction() as sql:
            following, found = await reading.ended(sql, self._queue, wanted, limit, cursor, now_ms)
        known = (await self.dump([task.task_id for task in found])).tasks if found else ()
        there = {dump.task_id for dump in known}
        return Page(tuple(task for task in found if task.task_id not in there), following)

    async def purge_dead(self, task_ids: Sequence[str]) -> int:
        purged = await super().purge_dead(task_ids)
        async with self.database.transaction() as sql:
            return max(purged, await tasks.forget(sql, self._queue, task_ids))

    async def trim(self, keep_ms: int, limit: int) -> int:
        """Only tasks whose end the ledger has read."""
        async with self.database.transaction() as sql:
            before_ms = await self._keeper.read_until(sql)
        return await self._trim_before(keep_ms, limit, before_ms) if before_ms else 0

    async def keep(self) -> Kept:
        return await self._keeper.round()

    async def news(self, seconds: float) -> None:
        await self._block(seconds, *self._keeper.next_event(self._keys.events, seconds))

    async def ledger(self) -> LedgerFacts:
        async with self.database.transaction() as sql:
            return await self._keeper.facts(sql)

    async def aclose(self) -> None:
        await super().aclose()
        await self.database.aclose()

    async def _epoch(self, sql: Any) -> str:
        """Of the Redis that may be given requests; empty where none is followed now."""
        queue = await queues.read(sql, self._queue)
        return queue.epoch if queue is not None and queue.phase is Phase.FOLLOWING else ""

    async def _give(self, epoch: str, batch: Sequence[Submission], verb: str) -> list[Accepted] | None:
        """Redis's answers; None where the steward is to give them later: Redis is away, full, or not this one."""
        if not epoch or not batch:
            return None
        try:
            return await self.give(epoch, batch, verb)
        except StoreError:
            return None

    async def _mark(self, told: Mapping[int, Accepted]) -> None:
        """What cannot be noted now is found out by giving it again."""
        taken = [request for request, word in told.items() if word in IN_THE_QUEUE]
        with suppress(LedgerUnavailableError):
            async with self.database.transaction() as sql:
                await requests.given(sql, taken)
                await requests.drop(sql, [request for request in told if request not in taken])

    async def _ask_for(self, verb: str, task_id: str, reason: str) -> str:
        async with self.database.transaction() as sql:
            epoch = await self._epoch(sql)
            asked = await requests.ask(sql, self._queue, verb, task_id, reason)
        reached(Point.WRITTEN)
        if not epoch or asked.blocked:
            raise StoreUnavailableError(_kept(verb, task_id, "Redis is being rebuilt, or was away until now"))
        try:
            word = await self.ask(epoch, asked.request, verb, task_id, reason)
        except StoreUnavailableError as error:
            raise StoreUnavailableError(_kept(verb, task_id, str(error))) from error
        if word is None:
            raise StoreUnavailableError(_kept(verb, task_id, "Redis is another one, or is being rebuilt"))
        reached(Point.GIVEN)
        return await self._answered(asked.request, task_id, word)

    async def _answered(self, request: int, task_id: str, word: str) -> str:
        """A task that Redis does not know may have ended long ago."""
        async with self.database.transaction() as sql:
            if word != UNKNOWN:
                await requests.given(sql, [request])
                return word
            await requests.drop(sql, [request])
            found = await reading.task(sql, self._queue, task_id, payloads=False)
            return UNKNOWN if found is None else str(found.state)


def _accepted(entry: requests.Entry, verb: str) -> Accepted:
    """Of what waits to be given."""
    return Accepted.NEW if entry.first and verb == "run" else Accepted.PENDING


def _kept(verb: str, task_id: str, why: str) -> str:
    return f"{why}; the request to {verb} {task_id} is kept in PostgreSQL and is carried out as soon as that is over"
