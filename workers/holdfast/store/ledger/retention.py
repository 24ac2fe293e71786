"""Tasks that have ended: the ledger remembers them longer than Redis, and forgets them with it."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.core.tasks import (
    Obliterated,
    Page,
    RetryAnswer,
    TaskRecord,
    Wanted,
)
from holdfast.errors import StoreRefusedError
from holdfast.store.ledger import kept_settings, lookup
from holdfast.store.ledger.base import LedgerStore
from holdfast.store.ledger.tables import requests, tasks

UNKNOWN = "unknown"
LOOKS = 20  # at pages of the ledger, for one page of a list


class LedgerRetention(LedgerStore):
    """What is there of a task in either of the two."""

    async def get(self, task_id: str, *, payloads: bool = True) -> TaskRecord | None:
        record = await super().get(task_id, payloads=payloads)
        if record is not None:
            return record
        async with self.database.transaction() as sql:
            return await lookup.task(sql, self._queue, task_id, payloads=payloads)

    async def tasks(self, wanted: Wanted, limit: int, cursor: str = "") -> Page:
        """Those that Redis has, then those that have ended and that only the ledger remembers."""
        page = Page((), lookup.MARK)
        if not cursor.startswith(lookup.MARK):
            page, cursor = await super().tasks(wanted, limit, cursor), lookup.MARK
        if page.cursor not in {"", lookup.MARK} or not lookup.ended_of(wanted):
            return page
        room = limit - len(page.tasks)
        rest = await self._remembered(wanted, max(room, 1), cursor)
        if not room:
            return Page(page.tasks, lookup.MARK if rest.tasks or rest.cursor else "", page.unreadable)
        return Page((*page.tasks, *rest.tasks), rest.cursor, page.unreadable)

    async def _remembered(self, wanted: Wanted, limit: int, cursor: str) -> Page:
        """Of what the ledger remembers most may be in Redis, too: a page looks through several of it."""
        found: list[TaskRecord] = []
        now_ms = await self.clock_ms()
        async with self.database.transaction() as sql:
            for _ in range(LOOKS):
                cursor, some = await lookup.ended(sql, self._queue, wanted, limit - len(found), cursor, now_ms)
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
            epoch = await self._epoch(sql)
            ended = [dump async for page in tasks.ended_of(sql, self._queue, [task_id]) for dump in page]
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
            await kept_settings.trim(sql, self._queue, before_ms - self._remember_ms)
        return await self._trim_before(keep_ms, limit, before_ms) if before_ms else 0
