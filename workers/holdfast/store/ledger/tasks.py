"""Records of tasks, from Redis and from PostgreSQL, which keeps tasks that have ended longer than Redis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from holdfast.core.counts import Obliterated
from holdfast.core.steps import StepHead
from holdfast.core.tasks import Page, RetryAnswer, TaskIds, TaskRecord, TextSearch, Wanted
from holdfast.errors import StoreRefusedError, StoreUnavailableError
from holdfast.store.ledger import kept_settings, lookup
from holdfast.store.ledger.change_requests import FollowedQueue
from holdfast.store.ledger.replicate import Replication
from holdfast.store.ledger.tables import queues, removals, requests, tasks
from holdfast.store.ledger.tables.queues import Queue, RebuildPhase, epoch_number
from holdfast.store.redis import RedisStore
from holdfast.store.redis.connection import Value
from holdfast.store.redis.ledger import ELSEWHERE, RedisLedger
from holdfast.store.redis.tasks import RedisTasks

UNKNOWN = "unknown"
LOOKS = 20  # pages of the ledger that are read for one page of a list


class LedgerTasks:
    """The calls that read, retry and delete the records of tasks. `remember_ms`: how long PostgreSQL keeps them."""

    def __init__(
        self,
        queue: FollowedQueue,
        redis: RedisStore,
        redis_ledger: RedisLedger,
        replication: Replication,
        remember_ms: int,
    ) -> None:
        self._queue = queue
        self._database = queue.database
        self._redis = redis
        self._redis_ledger = redis_ledger
        self._replication = replication
        self._remember_ms = remember_ms
        self._changing = RedisTasks(redis.connection, self._behind)
        self.place = redis.place
        self.steps = redis.steps
        self.parents = redis.parents
        self.children = redis.children
        self.small_results = redis.small_results
        self.emitted_parts = redis.emitted_parts
        self.dead_letters = redis.dead_letters

    async def get(self, task_id: str, *, payloads: bool = True) -> TaskRecord | None:
        record = await self._redis.get(task_id, payloads=payloads)
        if record is not None:
            return record
        async with self._database.transaction() as sql:
            return await lookup.task(sql, self._queue.name, task_id, payloads=payloads)

    async def step_names(self, task_id: str, first: int = 0) -> tuple[tuple[StepHead, ...], int | None]:
        found, following = await self._redis.step_names(task_id, first)
        if found or first or await self._redis.get(task_id, payloads=False) is not None:
            return found, following
        async with self._database.transaction() as sql:
            return await lookup.step_names(sql, self._queue.name, task_id), None

    async def tasks(self, wanted: Wanted, limit: int, cursor: str = "") -> Page:
        """A page of tasks: first those in Redis, then ended ones that only the ledger remembers."""
        page = Page((), lookup.MARK)
        if not cursor.startswith(lookup.MARK):
            page, cursor = await self._redis.tasks(wanted, limit, cursor), lookup.MARK
        if page.cursor not in {"", lookup.MARK} or not lookup.ended_of(wanted):
            return page
        room = limit - len(page.tasks)
        rest = await self._remembered(wanted, max(room, 1), cursor)
        if not room:
            return replace(page, cursor=lookup.MARK if rest.tasks or rest.cursor else "")
        return Page((*page.tasks, *rest.tasks), rest.cursor, page.unreadable, page.searched + rest.searched)

    async def search(self, wanted: Wanted, search: TextSearch, limit: int, cursor: str = "") -> Page:
        """One step in Redis, or, when that has been searched, in what only the ledger remembers."""
        if not cursor.startswith(lookup.MARK):
            page = await self._redis.search(wanted, search, limit, cursor)
            return page if page.cursor or not lookup.ended_of(wanted) else replace(page, cursor=lookup.MARK)
        return await self._remembered(wanted, min(limit, lookup.LARGEST_STEP), cursor, search)

    async def _remembered(self, wanted: Wanted, limit: int, cursor: str, search: TextSearch | None = None) -> Page:
        """A page of tasks that only the ledger remembers. Most tasks of the ledger may be in Redis, too, so a page of a
        list reads several pages of it; a step of a search reads one."""
        found: list[TaskRecord] = []
        searched = 0
        now_ms = await self._redis.clock_ms()
        async with self._database.transaction() as sql:
            for _ in range(1 if search else LOOKS):
                room = limit - len(found)
                cursor, some, looked = await lookup.ended(sql, self._queue.name, wanted, room, cursor, now_ms, search)
                searched += looked
                there = {
                    dump.task_id for dump in (await self._redis_ledger.dump([task.task_id for task in some])).tasks
                }
                found += [task for task in some if task.task_id not in there]
                if not cursor or len(found) == limit:
                    break
        return Page(tuple(found), cursor, searched=searched)

    async def task_ids(self, beginning: str, cursor: str, page: int) -> TaskIds:
        """Ids of tasks; the first page includes those that only the ledger remembers."""
        found = await self._redis.task_ids(beginning, cursor, page)
        if cursor:
            return found
        async with self._database.transaction() as sql:
            remembered = await tasks.beginning(sql, self._queue.name, beginning, page)
        return TaskIds((*found.ids, *remembered), found.cursor)

    async def retry(self, task_id: str, reason: str, change: str = "") -> RetryAnswer:
        """A task that only the ledger remembers is put back into Redis first."""
        answer = await self._changing.retry(task_id, reason, change)
        if answer.word != UNKNOWN:
            return answer
        async with self._database.transaction() as sql:
            epoch = await self._queue.epoch(sql)
            ended = [dump async for page in tasks.ended_of(sql, self._queue.name, [task_id]) for dump in page]
        return (
            await self._changing.retry(task_id, reason, change)
            if ended and await self._redis_ledger.restore(epoch, ended)
            else answer
        )

    async def purge_dead(self, task_ids: Sequence[str]) -> int:
        purged = await self._changing.purge_dead(task_ids)
        async with self._database.transaction() as sql:
            return max(purged, await removals.remove_dead(sql, self._queue.name, *await self._gone(sql, task_ids)))

    async def forget_tasks(self, task_ids: Sequence[str]) -> int:
        """Delete ended tasks. The ledger is brought up to date first, so that it does not later read the end of a
        deleted task."""
        await self._replication.round()
        forgotten = await self._changing.forget_tasks(task_ids)
        async with self._database.transaction() as sql:
            return max(forgotten, await removals.remove_ended(sql, self._queue.name, *await self._gone(sql, task_ids)))

    async def _gone(self, sql: Any, task_ids: Sequence[str]) -> tuple[list[str], int, int]:
        """The tasks among these that Redis does not have, the number of the epoch, and the moment of Redis's last
        event. That event is noted: a Redis without it was set back. The requests for these tasks count as done."""
        queue, gone, left = _following(await queues.hold(sql, self._queue.name)), list[str](), list(task_ids)
        while left:
            found = await self._redis_ledger.read(queue.epoch, queue.seen, left)
            if found is None:
                raise _lost()
            dumps, count = found
            there = {*dumps.damaged, *(dump.task_id for dump in dumps.tasks)}
            gone += [task_id for task_id in left[:count] if task_id not in there]
            queue, left = queue.saw(dumps.last), left[count:]
        await queues.write(sql, self._queue.name, queue)
        await requests.forget(sql, self._queue.name, gone)
        return gone, epoch_number(queue.epoch), queues.moment(queue.seen)

    async def _behind(self, operation: str, *args: Value) -> Any:
        """Run an operation that changes ended tasks. It is refused after a loss, because Redis might not know their
        last changes."""
        queue = _following(await self._queue.read())
        answer = await self._redis_ledger.behind(queue.epoch, queue.seen, operation, *args)
        if answer == ELSEWHERE:
            raise _lost()
        return answer

    async def obliterate(self, cursor: str, page: int, *, force: bool) -> Obliterated:
        raise StoreRefusedError(
            "a queue with storage in PostgreSQL cannot be obliterated: its tasks would be put back; clear the lanes, "
            "and delete the tasks that have ended"
        )

    async def trim(self, keep_ms: int, limit: int) -> int:
        """Delete old tasks. Only tasks whose end the ledger has read are deleted, so it is brought up to date first."""
        await self._replication.round()
        async with self._database.transaction() as sql:
            before_ms = await self._replication.read_until(sql)
            await tasks.trim(sql, self._queue.name, before_ms - self._remember_ms, limit)
            await removals.trim(sql, self._queue.name, before_ms - self._remember_ms)
            await requests.trim(sql, self._queue.name, self._remember_ms)
            await kept_settings.trim(sql, self._queue.name, before_ms - self._remember_ms)
        return await self._redis_ledger.trim(keep_ms, limit, before_ms) if before_ms else 0


def _following(queue: Queue | None) -> Queue:
    if queue is None or queue.phase is not RebuildPhase.FOLLOWING:
        raise _lost()
    return queue


def _lost() -> StoreUnavailableError:
    return StoreUnavailableError(
        "Redis is being rebuilt from PostgreSQL: tasks that have ended can be retried and deleted after that"
    )
