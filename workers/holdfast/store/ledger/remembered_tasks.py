"""Records of tasks, from Redis and from PostgreSQL. PostgreSQL keeps ended tasks longer than Redis does."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from holdfast.core.acceptance import Submission
from holdfast.core.counts import Obliterated
from holdfast.core.steps import StepHead, read_head
from holdfast.core.task_states import TERMINAL, State
from holdfast.core.tasks import Page, RetryAnswer, TaskIds, TaskObstacle, TaskOutline, TaskRecord, TextSearch, Wanted
from holdfast.errors import InvalidTaskError, StoreRefusedError
from holdfast.store.ledger import kept_settings
from holdfast.store.ledger.replicate import LedgerPart, RebuildingError, followed
from holdfast.store.ledger.tables import queues, requests, tasks
from holdfast.store.ledger.tables.queues import epoch_number
from holdfast.store.redis import decode
from holdfast.store.redis.ledger import Dump
from holdfast.store.redis.tasks import RedisTasks

LOOKS = 20  # pages of the ledger that are read for one page of a list


class LedgerTasks(LedgerPart, RedisTasks):
    """The calls that read, retry and delete the records of tasks. `_remember_ms`: how long PostgreSQL keeps records of
    ended tasks."""

    _remember_ms: int

    async def get(self, task_id: str, *, payloads: bool = True) -> TaskRecord | None:
        record = await super().get(task_id, payloads=payloads)
        if record is not None:
            return record
        async with self.database.transaction() as sql:
            return await remembered_task(sql, self._keys.queue, task_id, payloads=payloads)

    async def step_names(self, task_id: str, first: int = 0) -> tuple[tuple[StepHead, ...], int | None]:
        found, following = await super().step_names(task_id, first)
        if found or first or await super().get(task_id, payloads=False) is not None:
            return found, following
        async with self.database.transaction() as sql:
            return await step_names(sql, self._keys.queue, task_id), None

    async def tasks(self, wanted: Wanted, limit: int, cursor: str = "") -> Page:
        """A page of tasks: first those in Redis, then ended ones that only the ledger remembers."""
        page = Page((), MARK)
        if not cursor.startswith(MARK):
            page, cursor = await super().tasks(wanted, limit, cursor), MARK
        if page.cursor not in {"", MARK} or not ended_of(wanted):
            return page
        room = limit - len(page.tasks)
        rest = await self._remembered(wanted, max(room, 1), cursor)
        if not room:
            return replace(page, cursor=MARK if rest.tasks or rest.cursor else "")
        return Page((*page.tasks, *rest.tasks), rest.cursor, page.unreadable, page.searched + rest.searched)

    async def search(self, wanted: Wanted, search: TextSearch, limit: int, cursor: str = "") -> Page:
        """One step of the search: first in Redis, then among tasks that only the ledger remembers."""
        if not cursor.startswith(MARK):
            page = await super().search(wanted, search, limit, cursor)
            return page if page.cursor or not ended_of(wanted) else replace(page, cursor=MARK)
        return await self._remembered(wanted, min(limit, LARGEST_STEP), cursor, search)

    async def _remembered(self, wanted: Wanted, limit: int, cursor: str, search: TextSearch | None = None) -> Page:
        """A page of tasks that only the ledger remembers. Tasks that are also in Redis are left out, and these may be
        most of the ledger's tasks. So a page of a list may need several pages of the ledger. A step of a search reads
        only one page."""
        found: list[TaskRecord] = []
        searched = 0
        now_ms = await self.clock_ms()
        async with self.database.transaction() as sql:
            for _ in range(1 if search else LOOKS):
                room = limit - len(found)
                cursor, some, looked = await ended(sql, self._keys.queue, wanted, room, cursor, now_ms, search)
                searched += looked
                there = {dump.task_id for dump in (await self.redis_ledger.dump([task.task_id for task in some])).tasks}
                found += [task for task in some if task.task_id not in there]
                if not cursor or len(found) == limit:
                    break
        return Page(tuple(found), cursor, searched=searched)

    async def outlines(self, task_ids: Sequence[str], most_bytes: int) -> dict[str, TaskOutline]:
        found = await super().outlines(task_ids, most_bytes)
        gone = [task_id for task_id, outline in found.items() if outline == TaskOutline()]
        if not gone:
            return found
        async with self.database.transaction() as sql:
            dumps = await tasks.these(sql, self._keys.queue, gone)
        return found | {each.task_id: _outline(each, most_bytes) for each in dumps}

    async def task_ids(self, beginning: str, cursor: str, page: int) -> TaskIds:
        """Ids of tasks; the first page includes those that only the ledger remembers."""
        found = await super().task_ids(beginning, cursor, page)
        if cursor:
            return found
        async with self.database.transaction() as sql:
            remembered = await tasks.beginning(sql, self._keys.queue, beginning, page)
        return TaskIds((*found.ids, *remembered), found.cursor)

    async def retry(self, task_id: str, reason: str, change: str = "") -> RetryAnswer:
        """Retry a task. If Redis no longer has the task but the ledger remembers it, this first puts the task back into
        Redis."""
        answer = await super().retry(task_id, reason, change)
        if answer.word is not TaskObstacle.UNKNOWN:
            return answer
        async with self.database.transaction() as sql:
            epoch = await self._epoch(sql)
            ended = [dump async for page in tasks.ended_of(sql, self._keys.queue, [task_id]) for dump in page]
        return (
            await super().retry(task_id, reason, change)
            if ended and await self.redis_ledger.restore(epoch, ended)
            else answer
        )

    async def purge_dead(self, task_ids: Sequence[str]) -> int:
        purged = await super().purge_dead(task_ids)
        async with self.database.transaction() as sql:
            return max(purged, await tasks.remove_dead(sql, self._keys.queue, *await self._gone(sql, task_ids)))

    async def forget_tasks(self, task_ids: Sequence[str]) -> int:
        """Delete ended tasks. This first brings the ledger up to date, so that the ledger does not later read the end
        of a deleted task."""
        await self._replication.round()
        forgotten = await super().forget_tasks(task_ids)
        async with self.database.transaction() as sql:
            return max(forgotten, await tasks.remove_ended(sql, self._keys.queue, *await self._gone(sql, task_ids)))

    async def _gone(self, sql: Any, task_ids: Sequence[str]) -> tuple[list[str], int, int]:
        """The ids in this list that Redis does not have, the number of the epoch, and the moment of the last event in
        Redis.

        The ledger notes this event: a Redis without the event was set back. Requests for the missing tasks count as
        done.
        """
        queue, gone, left = followed(await queues.hold(sql, self._keys.queue)), list[str](), list(task_ids)
        while left:
            found = await self.redis_ledger.read(queue.epoch, queue.seen, left)
            if found is None:
                raise RebuildingError
            dumps, count = found
            there = {*dumps.damaged, *(dump.task_id for dump in dumps.tasks)}
            gone += [task_id for task_id in left[:count] if task_id not in there]
            queue, left = queue.saw(dumps.last), left[count:]
        await queues.write(sql, self._keys.queue, queue)
        await requests.forget(sql, self._keys.queue, gone)
        return gone, epoch_number(queue.epoch), queues.moment(queue.seen)

    async def obliterate(self, cursor: str, page: int, *, force: bool) -> Obliterated:
        raise StoreRefusedError(
            "a queue with storage in PostgreSQL cannot be obliterated: its tasks would be put back; clear the lanes, "
            "and delete the tasks that have ended"
        )

    async def trim(self, keep_ms: int, limit: int) -> int:
        """Delete old tasks. Only tasks whose end the ledger has read are deleted, so this first brings the ledger up to
        date."""
        await self._replication.round()
        async with self.database.transaction() as sql:
            before_ms = await self._replication.read_until(sql)
            await tasks.trim(sql, self._keys.queue, before_ms - self._remember_ms, limit)
            await tasks.trim_removals(sql, self._keys.queue, before_ms - self._remember_ms)
            await requests.trim(sql, self._keys.queue, self._remember_ms)
            await kept_settings.trim(sql, self._keys.queue, before_ms - self._remember_ms)
        return await self.redis_ledger.trim(keep_ms, limit, before_ms) if before_ms else 0


# Looks up tasks in the ledger that Redis does not know, or knows no longer.

MARK = "ledger"  # begins a cursor
LARGEST_STEP = 100  # tasks that one step of a search reads, with all of their turns
_NEWEST = (1 << 62, "")
_CURSOR = re.compile(rf"{MARK}(?:(?P<at>\d{{1,15}}):(?P<id>[\w.@-]+))?", re.ASCII)


async def remembered_task(sql: Any, queue: str, task_id: str, *, payloads: bool) -> TaskRecord | None:
    """The record of a task that the ledger has read, or of one that waits to be given to Redis. None if there is
    neither."""
    found = await tasks.these(sql, queue, [task_id])
    if found:
        return record(found[0], payloads=payloads)
    accepted = await requests.first_of(sql, queue, task_id)
    return None if accepted is None else _accepted(accepted, payloads=payloads)


async def step_names(sql: Any, queue: str, task_id: str) -> tuple[StepHead, ...]:
    """The steps that the ledger has read of a task, without their results, in the order of their places."""
    found = [
        read_head(int(place), head, len(result))
        for dump in await tasks.these(sql, queue, [task_id])
        for place, text in zip(dump.steps[::2], dump.steps[1::2], strict=True)
        for head, mark, result in [text.partition(b"\n")]
        if mark  # none: the sum of their bytes, which stands beside them
    ]
    return tuple(sorted(found, key=lambda step: step.place))


def ended_of(wanted: Wanted) -> list[str]:
    """The terminal states among the wanted ones; all terminal states if the filter names none. Empty if the filter
    names a worker, because no worker runs an ended task."""
    return [] if wanted.owner else sorted(TERMINAL.intersection(wanted.states or TERMINAL))


async def ended(
    sql: Any, queue: str, wanted: Wanted, limit: int, cursor: str, now_ms: int, search: TextSearch | None = None
) -> tuple[str, list[TaskRecord], int]:
    """The next cursor, a page of ended tasks without payloads, and the number of tasks searched. The newest task comes
    first. The page has fewer than `limit` tasks if some do not match."""
    place = _CURSOR.fullmatch(cursor)
    if place is None:
        raise InvalidTaskError(f"cursor {cursor!r}: give the cursor of the previous page, or none for the first page")
    before = (int(place["at"]), place["id"]) if place["at"] else _NEWEST
    ids = await tasks.ended(sql, queue, ended_of(wanted), before, limit + 1, wanted.error)
    more, ids = len(ids) > limit, ids[:limit]
    found = {dump.task_id: dump for dump in await tasks.these(sql, queue, [each for each, _ in ids])}
    following = f"{MARK}{ids[-1][1]}:{ids[-1][0]}" if more else ""
    fitting = [
        task
        for task in (record(found[each], payloads=search is not None) for each, _ in ids)
        if _fits(task, wanted, now_ms - task.created_ms) and (search is None or search.fits(task))
    ]
    bare = [replace(task, operation=None, result=None, checkpoint=None, trail=()) for task in fitting]
    return following, bare, len(ids)


def _fits(task: TaskRecord, wanted: Wanted, age_ms: int) -> bool:
    of_place = wanted.lane in {"", task.lane} and wanted.name in {"", task.name} and wanted.batch in {"", task.batch}
    young_enough = wanted.newer_ms is None or age_ms <= wanted.newer_ms
    return of_place and young_enough and (wanted.older_ms is None or age_ms >= wanted.older_ms)


def record(dump: Dump, *, payloads: bool) -> TaskRecord:
    """Make a task record from a dump."""
    flat = [word for name, value in dump.record.items() for word in (name.encode(), value)]
    before = next(filter(None, reversed(dump.history[1::2])), b"")
    content = (dump.operation, dump.result or before, dump.checkpoint) if payloads else (b"", b"", b"")
    parents = [parent.encode() for parent in dump.parents]
    return decode.task_record(
        dump.task_id, [flat, int(bool(dump.dead)), len(dump.pending), list(dump.trail), *content, parents]
    )


def _outline(dump: Dump, most_bytes: int) -> TaskOutline:
    return decode.outline(dump.operation[:most_bytes], dump.trail)


def _accepted(one: Submission, *, payloads: bool) -> TaskRecord:
    """The record of a task that PostgreSQL has accepted and that is not in Redis yet."""
    return TaskRecord(
        task_id=one.task_id,
        state=State.SUBMITTED,
        lane=one.lane,
        turn=1,
        message_id=one.message_id,
        name=one.name,
        origin="own",
        created_ms=0,
        due_ms=one.due_ms,
        reason="waits in PostgreSQL until Redis can take it",
        operation=one.operation if payloads else None,
        max_attempts=one.max_attempts,
    )
