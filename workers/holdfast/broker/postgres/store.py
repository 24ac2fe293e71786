"""The store of a queue whose tasks PostgreSQL keeps: Redis, the ledger before whoever writes and behind whoever reads.

A producer's request is accepted when PostgreSQL has it. It is given to Redis at once; where that cannot be, the steward
gives it later, in order.
"""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from holdfast.broker.postgres import facts, giving, migrating, queues, reading, requests, tasks
from holdfast.broker.postgres.asking import Asking
from holdfast.broker.postgres.database import Database
from holdfast.broker.postgres.keeping import Keeper
from holdfast.broker.postgres.queues import Phase, Queue
from holdfast.broker.redis import RedisStore
from holdfast.broker.redis.connection import Value
from holdfast.broker.redis.facts import FactsRole
from holdfast.broker.redis.ledger import ELSEWHERE
from holdfast.broker.redis.scheduling import found_due
from holdfast.core.definitions import Due, FireOrder
from holdfast.core.facts import FollowingFacts
from holdfast.core.records import (
    Accepted,
    Kept,
    LedgerFacts,
    Obliterated,
    Page,
    Receipt,
    RetryAnswer,
    Submission,
    TaskRecord,
    Wanted,
)
from holdfast.errors import LedgerUnavailableError, StoreError, StoreRefusedError, StoreUnavailableError
from holdfast.killpoints import Point, reached
from holdfast_config import RedisSettings
from holdfast_config.postgres_settings import PostgresSettings

UNKNOWN = "unknown"
AGAIN_MS = 1000  # after which a Redis that is rebuilt is looked at again
LOOKS = 20  # at pages of the ledger, for one page of a list

T = TypeVar("T")


class PostgresStore(RedisStore, FactsRole):
    """Implements `holdfast.broker.port.Store` and `Ledger`. `replaced`: as for RedisStore."""

    def __init__(
        self, settings: RedisSettings, database: PostgresSettings, replaced: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(settings, replaced)
        self._queue = settings.queue
        self._remember_ms = round(database.keep * 1000)
        self.database = Database(database)
        self._keeper = Keeper(self._queue, self.database, self)
        self._last_seen: Queue | None = None
        asking = Asking(self._queue, self.database, self, self._connection.run, self.keep)
        self._run, self._word, self._number = asking.run, asking.word, asking.number

    async def preflight(self) -> None:
        await super().preflight()
        await migrating.check(self.database)
        await self._keeper.check_owner()

    async def ping(self) -> None:
        await super().ping()
        async with self.database.transaction() as sql:
            await sql.execute("SELECT 1")

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        return [receipt.accepted for receipt in await self._accept(submissions, "run")]

    async def submit_on_terms(self, submissions: Sequence[Submission]) -> list[Receipt]:
        return await self._accept(submissions, "run")

    async def message(self, submission: Submission) -> Accepted:
        return (await self._accept([submission], "message"))[0].accepted

    async def _accept(self, submissions: Sequence[Submission], verb: str) -> list[Receipt]:
        async with self.database.transaction() as sql:
            epoch = await self._epoch(sql)
            entries = await requests.enter(sql, self._queue, submissions, verb)
            ready = [entry for entry in entries if entry.word is None and not entry.blocked]
            batch = [entry.submission for entry in ready]
            await self._try(giving.put_back_parents(sql, self._queue, self, epoch, batch))
        reached(Point.WRITTEN)
        receipts = await self._try(self.give(epoch, batch, verb)) if epoch and batch else None
        reached(Point.GIVEN)
        told = list(zip(ready, receipts or (), strict=False))
        await self._mark(told)
        answers = {id(entry): receipt for entry, receipt in told}
        return [answers.get(id(entry)) or _receipt(entry, verb) for entry in entries]

    async def cancel(self, task_id: str, reason: str) -> str:
        return await self._ask_for("cancel", task_id, reason)

    async def pause(self, task_id: str, reason: str) -> str:
        return await self._ask_for("pause", task_id, reason)

    async def resume(self, task_id: str, reason: str) -> str:
        return await self._ask_for("resume", task_id, reason)

    async def due_schedules(self, limit: int) -> Due:
        """None while Redis is not all that the ledger knows of it: a schedule might be there that was removed."""
        queue = await self._followed()
        found = None if queue is None else await self._behind("schedule_due", queue, limit)
        return Due(await self.clock_ms(), (), AGAIN_MS) if found is None else found_due(found)

    async def fire(self, orders: Sequence[FireOrder]) -> list[str]:
        """A fire whose task the ledger knows is not made again, whatever Redis remembers; and none as above."""
        queue = await self._followed()
        with suppress(LedgerUnavailableError):
            orders = await self._marked(orders)
        answers = None if queue is None else await self._behind("schedule_fire", queue, self._packed(orders))
        if answers is not None:
            return [answer.decode() for answer in answers]
        if any(order.kind == "extra" for order in orders):
            raise StoreUnavailableError("Redis is being rebuilt from PostgreSQL: a schedule can be run after that")
        return ["stale"] * len(orders)

    async def get(self, task_id: str, *, payloads: bool = True) -> TaskRecord | None:
        record = await super().get(task_id, payloads=payloads)
        if record is not None:
            return record
        async with self.database.transaction() as sql:
            return await reading.task(sql, self._queue, task_id, payloads=payloads)

    async def tasks(self, wanted: Wanted, limit: int, cursor: str = "") -> Page:
        """Those that Redis has, then those that have ended and that only the ledger remembers."""
        page = Page((), reading.MARK)
        if not cursor.startswith(reading.MARK):
            page, cursor = await super().tasks(wanted, limit, cursor), reading.MARK
        if page.cursor not in {"", reading.MARK} or not reading.ended_of(wanted):
            return page
        room = limit - len(page.tasks)
        rest = await self._remembered(wanted, max(room, 1), cursor)
        if not room:
            return Page(page.tasks, reading.MARK if rest.tasks or rest.cursor else "")
        return Page((*page.tasks, *rest.tasks), rest.cursor)

    async def _remembered(self, wanted: Wanted, limit: int, cursor: str) -> Page:
        """Of what the ledger remembers most may be in Redis, too: a page looks through several of it."""
        found: list[TaskRecord] = []
        now_ms = await self.clock_ms()
        async with self.database.transaction() as sql:
            for _ in range(LOOKS):
                cursor, some = await reading.ended(sql, self._queue, wanted, limit - len(found), cursor, now_ms)
                there = {dump.task_id for dump in (await self.dump([task.task_id for task in some])).tasks}
                found += [task for task in some if task.task_id not in there]
                if not cursor or len(found) == limit:
                    break
        return Page(tuple(found), cursor)

    async def retry(self, task_id: str, reason: str) -> RetryAnswer:
        """Of a task that only the ledger remembers, too."""
        answer = await super().retry(task_id, reason)
        if answer.word != UNKNOWN:
            return answer
        async with self.database.transaction() as sql:
            epoch, ended = await self._epoch(sql), await tasks.ended_of(sql, self._queue, [task_id])
        return await super().retry(task_id, reason) if ended and await self.restore(epoch, ended) else answer

    async def purge_dead(self, task_ids: Sequence[str]) -> int:
        purged = await super().purge_dead(task_ids)
        async with self.database.transaction() as sql:
            there = {dump.task_id for dump in (await self.dump(task_ids)).tasks}
            gone = [task_id for task_id in task_ids if task_id not in there]
            await requests.forget(sql, self._queue, gone)
            return max(purged, await tasks.forget(sql, self._queue, gone))

    async def forget_tasks(self, task_ids: Sequence[str]) -> int:
        """The ledger is brought up to date first, so that no end is read of a task that is gone."""
        await self.keep()
        forgotten = await super().forget_tasks(task_ids)
        async with self.database.transaction() as sql:
            there = {dump.task_id for dump in (await self.dump(task_ids)).tasks}
            gone = [task_id for task_id in task_ids if task_id not in there]
            await requests.forget(sql, self._queue, gone)
            return max(forgotten, await tasks.forget_ended(sql, self._queue, gone))

    async def obliterate(self, cursor: str, page: int, *, force: bool) -> Obliterated:
        raise StoreRefusedError(
            "PostgreSQL keeps these tasks, and would put back what Redis alone loses; clear the lanes, and clean "
            "away what has ended"
        )

    async def trim(self, keep_ms: int, limit: int) -> int:
        """Only tasks whose end the ledger has read: it is brought up to date first."""
        await self.keep()
        async with self.database.transaction() as sql:
            before_ms = await self._keeper.read_until(sql)
            await tasks.trim(sql, self._queue, before_ms - self._remember_ms, limit)
            await requests.trim(sql, self._queue, self._remember_ms)
            await facts.trim(sql, self._queue, before_ms - self._remember_ms)
        return await self._trim_before(keep_ms, limit, before_ms) if before_ms else 0

    async def keep(self) -> Kept:
        return await self._keeper.round()

    async def news(self, seconds: float) -> None:
        await self._block(seconds, *self._keeper.next_event(self._keys.events, seconds))

    async def ledger(self) -> LedgerFacts:
        async with self.database.transaction() as sql:
            return await self._keeper.standing(sql)

    async def following(self) -> FollowingFacts:
        """The same, and whether this Redis is the one; for the doctor."""
        async with self.database.transaction() as sql:
            ledger, queue = await self._keeper.standing(sql), await queues.read(sql, self._queue)
        return FollowingFacts(ledger, queue.epoch if queue else "", await self.owner() or await self.rebuilding())

    async def aclose(self) -> None:
        await super().aclose()
        await self.database.aclose()

    async def _behind(self, operation: str, queue: Queue, value: Value) -> Any:
        """What an operation answers that only a Redis may do which has forgotten nothing; None where it has."""
        answer = await self._run_behind("followed", operation, value, queue.epoch, queue.seen)
        return None if answer == ELSEWHERE else answer

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

    async def _marked(self, orders: Sequence[FireOrder]) -> list[FireOrder]:
        ids = [fire.task.task_id for order in orders for fire in order.fires]
        async with self.database.transaction() as sql:
            known = await tasks.known(sql, self._queue, ids)
        return [
            replace(order, fires=tuple(replace(fire, made=fire.task.task_id in known) for fire in order.fires))
            for order in orders
        ]

    async def _epoch(self, sql: Any) -> str:
        """Of the Redis that may be given requests; empty where none is followed now."""
        queue = await queues.read(sql, self._queue)
        return queue.epoch if queue is not None and queue.phase is Phase.FOLLOWING else ""

    async def _try(self, giving: Awaitable[T]) -> T | None:
        """None where the steward is to do it later: Redis is away, full, or not this one."""
        try:
            return await giving
        except StoreError:
            return None

    async def _mark(self, told: Sequence[tuple[requests.Entry, Receipt]]) -> None:
        """What cannot be noted now is found out by giving it again."""
        taken = {entry.request for entry, receipt in told if _is_taken(entry, receipt)}
        with suppress(LedgerUnavailableError):
            async with self.database.transaction() as sql:
                await requests.given(sql, list(taken))
                await requests.drop(sql, [entry.request for entry, _ in told if entry.request not in taken])

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


def _is_taken(entry: requests.Entry, receipt: Receipt) -> bool:
    """Whether Redis has it; what was refused, or is another task by its unique key, is no request any more."""
    return receipt.accepted not in giving.REFUSALS and receipt.task_id == entry.submission.task_id


def _receipt(entry: requests.Entry, verb: str) -> Receipt:
    """Of what the ledger knows, or of what waits to be given."""
    waits = Accepted.NEW if entry.first and verb == "run" else Accepted.PENDING
    return Receipt(entry.word or waits, entry.submission.task_id)


def _kept(verb: str, task_id: str, why: str) -> str:
    return f"{why}; the request to {verb} {task_id} is kept in PostgreSQL and is carried out as soon as that is over"
