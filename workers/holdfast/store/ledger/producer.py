"""Requests of producers. A request is accepted when PostgreSQL has it. Then the producer gives it to Redis. If this
fails, the steward gives it later, in the order of acceptance.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from holdfast.core.acceptance import Accepted, Receipt, Submission
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskObstacle
from holdfast.errors import LedgerUnavailableError, StoreError, StoreUnavailableError
from holdfast.os.kill_points import Point, reached
from holdfast.store.ledger import change_requests, deliver
from holdfast.store.ledger.change_requests import EnteredRequest
from holdfast.store.ledger.remembered_tasks import remembered_task
from holdfast.store.ledger.replicate import LedgerPart, epoch_of
from holdfast.store.ledger.tables import queues, requests, tasks
from holdfast.store.redis.batches import RedisBatches
from holdfast.store.redis.connection import Value
from holdfast.store.redis.ledger import OVERTAKEN
from holdfast.store.redis.producer import RedisProducer

T = TypeVar("T")

FIRST_ROUNDS = 50  # rounds for a queue that is new to the ledger: enough for an empty one


class LedgerRequests(LedgerPart, RedisProducer, RedisBatches):
    """The calls of producers, and all changes of settings (`_change_setting`). A call writes its request to PostgreSQL
    first, then it gives the request to Redis.

    `_most_pending`: the number of messages that may wait for one task.
    """

    _most_pending: int

    async def _give_in_turn(
        self, epoch: str, name: str, entered: EnteredRequest, what: str, giving: Callable[[], Awaitable[T | None]]
    ) -> T:
        """Give Redis a request for this task or setting, after all earlier ones; returns the answer of Redis. Raises
        StoreUnavailableError if the request must be given later. `giving` makes the call; it returns None if the ledger
        does not follow this Redis."""
        why = "Redis is being rebuilt from PostgreSQL, or was away until now"
        if epoch and (not entered.blocked or await self._wait_turn([name], entered.request)):
            try:
                if (answer := await giving()) is not None:
                    return answer
            except StoreUnavailableError as error:
                raise StoreUnavailableError(_kept(what, str(error))) from error
            why = "this Redis does not follow PostgreSQL, or is being rebuilt"
        raise StoreUnavailableError(_kept(what, why))

    async def _wait_turn(self, names: Sequence[str], request: int, ours: Sequence[int] = ()) -> bool:
        return await change_requests.wait_order(self.database, self._keys.queue, names, request, ours)

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        return [receipt.accepted for receipt in await self._accept(submissions, "run")]

    async def submit_with_options(self, submissions: Sequence[Submission]) -> list[Receipt]:
        return await self._accept(submissions, "run")

    async def message(self, submission: Submission) -> Accepted:
        return (await self._accept([submission], "message"))[0].accepted

    async def _accept(self, submissions: Sequence[Submission], verb: str) -> list[Receipt]:
        async with self.database.transaction() as sql:
            epoch = await self._epoch(sql)
            entries = await requests.enter(sql, self._keys.queue, submissions, verb, self._most_pending)
        reached(Point.WRITTEN)
        ready = await self._ready(entries) if epoch else []
        batch = [entry.submission for entry in ready]
        await self._put_back_parents(epoch, batch)
        await self._put_back_batches(epoch, batch)
        promised = [(entry.submission, entry.promised) for entry in ready]
        receipts = await self._try(self.redis_ledger.give(epoch, promised, verb)) if epoch and batch else None
        reached(Point.GIVEN)
        answered = list(zip(ready, receipts or (), strict=False))
        await self._mark(answered)
        answers = {id(entry): _told(receipt) for entry, receipt in answered}
        return [answers.get(id(entry)) or _receipt(entry, verb) for entry in entries]

    async def _ready(self, entries: Sequence[requests.Entry]) -> list[requests.Entry]:
        """The entries that may be given to Redis now. If earlier requests for the same tasks come first, wait until
        their producers have given these to Redis."""
        fresh = [entry for entry in entries if entry.word is None]
        ours = [entry.request for entry in fresh]
        return [entry for entry in fresh if not entry.blocked or await self._try(self._is_next(entry, ours))]

    async def _is_next(self, entry: requests.Entry, ours: Sequence[int]) -> bool:
        one = entry.submission
        names = [one.task_id, *(one.options.after if one.options else ())]
        return await self._wait_turn(names, entry.request, ours)

    async def _put_back_parents(self, epoch: str, batch: Sequence[Submission]) -> None:
        """Put ended parents back into Redis, in a separate transaction, because the transaction that accepts tasks must
        not wait for Redis."""
        if any(one.options and one.options.after for one in batch):
            with suppress(LedgerUnavailableError):
                async with self.database.transaction() as sql:
                    await self._try(deliver.put_back_parents(sql, self._keys.queue, self.redis_ledger, epoch, batch))

    async def _put_back_batches(self, epoch: str, batch: Sequence[Submission]) -> None:
        """If a producer continues a batch that this Redis does not have, put the ended tasks of the batch back into
        Redis."""
        named = {one.options.batch.batch for one in batch if one.options and one.options.batch}
        unknown = [each for each in sorted(named) if await self._try(self.batch(each)) is None]
        if unknown and epoch:
            with suppress(LedgerUnavailableError):
                async with self.database.transaction() as sql:
                    async for ended in tasks.ended_of_batches(sql, self._keys.queue, unknown):
                        await self._try(self.redis_ledger.restore(epoch, ended))

    async def _try(self, giving: Awaitable[T]) -> T | None:
        """Await a call of Redis. Returns None if the steward must make the call later: Redis is away, full, or follows
        another ledger."""
        try:
            return await giving
        except StoreError:
            return None

    async def _mark(self, answered: Sequence[tuple[requests.Entry, Receipt]]) -> None:
        """Record in PostgreSQL which requests Redis has taken. If PostgreSQL is away now, a steward gives the requests
        to Redis again, with the same result. A refused request is dropped, unless an earlier call has already told its
        producer that the request is accepted."""
        taken = {entry.request for entry, receipt in answered if _is_taken(entry, receipt)}
        refused = [entry.request for entry, _ in answered if entry.request not in taken and not entry.promised]
        with suppress(LedgerUnavailableError):
            async with self.database.transaction() as sql:
                await requests.given(sql, list(taken))
                await requests.drop(sql, refused)

    async def change_task(self, verb: str, task_id: str, reason: str) -> State | TaskObstacle:
        async with self.database.transaction() as sql:
            epoch = await self._epoch(sql)
            asked = await requests.ask(sql, self._keys.queue, verb, task_id, reason)
        reached(Point.WRITTEN)
        giving = partial(self.redis_ledger.ask, epoch, asked.request, verb, task_id, reason)
        word: State | TaskObstacle = await self._give_in_turn(epoch, task_id, asked, f"to {verb} {task_id}", giving)
        reached(Point.GIVEN)
        return await self._answered(asked.request, task_id, word)

    async def _answered(self, request: int, task_id: str, word: State | TaskObstacle) -> State | TaskObstacle:
        """The answer for a request that Redis has carried out. If Redis does not know the task, the ledger may know
        that the task has ended."""
        async with self.database.transaction() as sql:
            if isinstance(word, State):
                await requests.given(sql, [request])
                return word
            await requests.drop(sql, [request])
            found = await remembered_task(sql, self._keys.queue, task_id, payloads=False)
        if word is TaskObstacle.DAMAGED:
            await self.connection.refuse_damaged(task_id)
        return TaskObstacle.UNKNOWN if found is None else found.state

    async def _write_ahead(self, name: str, *args: Value) -> Any:
        """Write a change to PostgreSQL, then run it in Redis. If Redis is away, raises StoreUnavailableError, which
        says that the change is kept and carried out later."""
        setting = change_requests.setting_of(name, args)
        epoch, entered = await self._enter(setting, name, args)
        reached(Point.WRITTEN)
        giving = partial(self._carry_out, epoch, setting, entered.request, name, args)
        answer = await self._give_in_turn(epoch, setting, entered, f"for {_named(setting)}", giving)
        reached(Point.GIVEN)
        with suppress(LedgerUnavailableError):  # its events show it as well
            async with self.database.transaction() as sql:
                await requests.given(sql, [entered.request])
        return answer

    async def _enter(self, setting: str, operation: str, args: tuple[Value, ...]) -> tuple[str, EnteredRequest]:
        """Accept a change; returns its receipt, and the epoch of the Redis that may get the change (empty: no Redis may
        get it now)."""
        async with self.database.transaction() as sql:
            if (queue := await queues.read(sql, self._keys.queue)) is not None:
                return epoch_of(queue), await change_requests.enter(sql, self._keys.queue, setting, operation, args)
        await self._begin()
        async with self.database.transaction() as sql:
            queue = await queues.read(sql, self._keys.queue)
            return epoch_of(queue), await change_requests.enter(sql, self._keys.queue, setting, operation, args)

    async def _begin(self) -> None:
        """Make the queue's row if there is none: schedules may be set before the first supervisor starts."""
        for _ in range(FIRST_ROUNDS):
            kept = await self._replication.round()
            if kept.busy or not kept.rebuilding:
                return

    async def _carry_out(self, epoch: str, setting: str, number: int, operation: str, args: Sequence[Value]) -> Any:
        try:
            answer = await self.redis_ledger.request(epoch, setting, number, operation, args)
        except StoreUnavailableError:
            raise
        except StoreError:  # refused, and will be again
            async with self.database.transaction() as sql:
                await requests.drop(sql, [number])
            raise
        if answer == OVERTAKEN:
            raise StoreError(
                f"the request for {_named(setting)} was carried out long ago, and its answer is no longer kept"
            )
        return answer


def _is_taken(entry: requests.Entry, receipt: Receipt) -> bool:
    """True if Redis has the task. False if Redis has refused it, or if its unique key belongs to another task."""
    return receipt.accepted not in deliver.REFUSALS and receipt.task_id == entry.submission.task_id


def _told(receipt: Receipt) -> Receipt:
    """The answer to a producer. If Redis has just rejected a task that was accepted before, the producer gets
    DUPLICATE, and the record of the task says why."""
    is_rejected = receipt.accepted is Accepted.REJECTED
    return Receipt(Accepted.DUPLICATE, receipt.task_id) if is_rejected else receipt


def _receipt(entry: requests.Entry, verb: str) -> Receipt:
    """The receipt for a request that Redis does not get now: the answer that the ledger knows, else NEW or PENDING."""
    waits = Accepted.NEW if entry.first and verb == "run" else Accepted.PENDING
    return Receipt(entry.word or waits, entry.submission.task_id)


def _kept(what: str, why: str) -> str:
    return f"{why}; the request {what} is kept in PostgreSQL, and is carried out when Redis can take it"


def _named(setting: str) -> str:
    kind, _, name = setting.partition("|")
    return f"schedule {name}" if kind == "schedule" else {"rules": "lanes", "quiet": "hosts"}[kind]
