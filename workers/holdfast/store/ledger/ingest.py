"""Ingests events: writes tasks and settings in their present state in Redis, and deletes requests whose effect they
show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from holdfast.errors import StoreUnavailableError
from holdfast.store.ledger import kept_settings
from holdfast.store.ledger.tables import queues, removals, requests, tasks
from holdfast.store.ledger.tables.queues import Queue
from holdfast.store.redis.ledger import EventPage, RedisLedger

TASKS = 100  # read from Redis in one call
SETTINGS = 200
EVENTS = 500  # read in one call


class Ingestion:
    def __init__(self, queue: str, redis: RedisLedger) -> None:
        self._name = queue
        self._redis = redis

    async def tasks(self, sql: Any, queue: Queue, task_ids: Sequence[str]) -> Queue | None:
        """Write the present state of these tasks; returns the queue's row after that. None if this Redis has lost
        data."""
        left = list(task_ids)
        while left:
            found = await self._redis.read(queue.epoch, queue.seen, left[:TASKS])
            if found is None:
                return None
            dumps, count = found
            queue = queue.saw(dumps.last)
            await tasks.keep(sql, self._name, dumps)
            await requests.confirm(sql, self._name, left[:count])
            left = left[count:]
        return queue

    async def happened(self, sql: Any, queue: Queue, look: EventPage) -> Queue:
        """Write the tasks in these events, and mark their settings as unread; returns the queue's row after that."""
        after = await self.tasks(sql, replace(queue, position=look.position), look.ids)
        if after is None:
            raise _forgotten()
        await removals.note(sql, self._name, look.removals, queues.moment(look.position))
        await kept_settings.note(sql, self._name, look.settings)
        return after

    async def settings(self, sql: Any, queue: Queue) -> tuple[Queue, bool]:
        """Read the settings that have changed, and all tasks that have changed until then. True if there are more."""
        names = await kept_settings.unread(sql, self._name, SETTINGS)
        if not names:
            return queue, False
        last = await self.these_settings(sql, queue, names)
        if last is None:
            raise _forgotten()
        after = await self._catch_up(sql, queue.saw(last), last)
        return after, bool(await kept_settings.unread(sql, self._name, 1))

    async def these_settings(self, sql: Any, queue: Queue, names: Sequence[str]) -> str | None:
        """Write the present state of these settings; returns the last event at that time. None if this Redis has lost
        data."""
        found = await self._redis.kept_settings(queue.epoch, queue.seen, names)
        if found is None:
            return None
        last, some = found
        await kept_settings.keep(sql, self._name, some, queues.moment(last))
        return last

    async def _catch_up(self, sql: Any, queue: Queue, last: str) -> Queue:
        """Write the tasks of all events up to `last`, the last event when the settings were read."""
        while queues.is_before(queue.position, last):
            look = await self._redis.follow(queue.epoch, queue.position, queue.seen, EVENTS)
            if look.word != "ok":
                raise _forgotten()
            queue = await self.happened(sql, queue, look)
        return queue


def _forgotten() -> StoreUnavailableError:
    return StoreUnavailableError("Redis lost data while it was read: the data read is discarded")
