"""Ingesting: writing tasks and facts as Redis has them, with whatever was asked for and is done by that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from holdfast.broker.postgres import facts, queues, requests, tasks
from holdfast.broker.postgres.queues import Queue
from holdfast.broker.redis.facts import FactsRole
from holdfast.errors import StoreUnavailableError

TASKS = 100  # read from Redis in one call
FACTS = 200
EVENTS = 500  # read in one call


class Ingesting:
    def __init__(self, queue: str, redis: FactsRole) -> None:
        self._name = queue
        self._redis = redis

    async def tasks(self, sql: Any, task_ids: Sequence[str]) -> str:
        """Write these tasks as they are; the last event there was when they were read."""
        witness = ""
        for start in range(0, len(task_ids), TASKS):
            page = task_ids[start : start + TASKS]
            dumps = await self._redis.dump(page)
            witness = dumps.last
            await tasks.keep(sql, self._name, dumps)
            await requests.confirm(sql, self._name, page)
        return witness

    async def facts(self, sql: Any, queue: Queue) -> tuple[Queue, bool]:
        """Read those to which something has happened, and all tasks of which something has happened until then.
        Whether there are more."""
        names = await facts.unread(sql, self._name, FACTS)
        if not names:
            return queue, False
        last = await self.these_facts(sql, queue, names)
        if last is None:
            raise StoreUnavailableError("Redis has lost data while it was read: what was read is not believed")
        after = await self._catch_up(sql, queue, last)
        return after, bool(await facts.unread(sql, self._name, 1))

    async def these_facts(self, sql: Any, queue: Queue, names: Sequence[str]) -> str | None:
        """Write these facts as they are; the last event there was then. None where this Redis has lost something."""
        found = await self._redis.facts(queue.epoch, queue.position, names)
        if found is None:
            return None
        last, some = found
        await facts.keep(sql, self._name, some, queues.moment(last))
        return last

    async def _catch_up(self, sql: Any, queue: Queue, last: str) -> Queue:
        """Facts were read when this event was the last: so are the tasks of all events until then."""
        while queues.is_before(queue.position, last):
            look = await self._redis.follow(queue.epoch, queue.position, queue.seen, EVENTS)
            if look.word != "ok":
                raise StoreUnavailableError("Redis has lost data while it was read: what was read is not believed")
            witness = await self.tasks(sql, look.ids)
            await facts.note(sql, self._name, look.facts)
            queue = replace(queue, position=look.position, witness=witness or queue.witness)
        return queue
