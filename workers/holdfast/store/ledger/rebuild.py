"""Rebuilds a Redis that has lost data, step by step.

Rule 1. Each step is one transaction, which notes the progress. Another steward may do the next step.

Rule 2. Settings of lanes and hosts go back before any task, so that no paused task starts.

Rule 3. A task that had ended goes back before others can run it again; a removed task is removed again. Until then no
worker claims tasks in a Redis that was set back.

Rule 4. Schedules go back after the tasks, and create no tasks until the ledger follows this Redis.

Theory of operation. `RebuildPhase` lists the steps in their order; `Queue.cursor` says how far a step has come. A Redis
that was set back keeps its data: tasks that have ended since then go back first. An emptied Redis gets all open tasks.
Workers go on in the meantime, so at the end everything in Redis is read once. Requests that were accepted in the
meantime are given to Redis when the rebuild is over.

Warning. A rebuild also begins if the ledger was so slow that Redis deleted events before the ledger had read them. Then
the data in Redis stays, and items that are missing there count as removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from holdfast.core.counts import RebuildPhase
from holdfast.errors import StoreUnavailableError
from holdfast.os.kill_points import Point, reached
from holdfast.store.ledger import change_requests, deliver, kept_settings
from holdfast.store.ledger.tables import queues, requests, tasks
from holdfast.store.ledger.tables.queues import Queue, moment, next_epoch
from holdfast.store.redis.ledger import Dump, EventPage, KeptSetting, Memory, RedisLedger, Restored
from holdfast_config import library_log

# Ingests events: writes tasks and settings as Redis has them, and deletes the requests that are done by that.

TASKS = 100  # read from Redis in one call
SETTINGS = 200
EVENTS = 500  # read in one call


class Ingestion:
    def __init__(self, queue: str, redis: RedisLedger) -> None:
        self._name = queue
        self._redis = redis

    async def tasks(self, sql: Any, queue: Queue, task_ids: Sequence[str]) -> Queue | None:
        """Write the present state of these tasks to PostgreSQL. Returns the queue's row with the last event that Redis
        had; None if this Redis has lost data."""
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
        """Write the tasks that these events name to PostgreSQL, and mark the settings that the events name as unread.
        Returns the changed row of the queue."""
        after = await self.tasks(sql, replace(queue, position=look.position), look.ids)
        if after is None:
            raise _forgotten()
        await tasks.note_removals(sql, self._name, look.removals, queues.moment(look.position))
        await kept_settings.note(sql, self._name, look.settings)
        return after

    async def settings(self, sql: Any, queue: Queue) -> tuple[Queue, bool]:
        """Read some settings that have changed in Redis, and all tasks that changed before the settings were read.
        Returns the changed row of the queue, and True if more settings have changed."""
        names = await kept_settings.unread(sql, self._name, SETTINGS)
        if not names:
            return queue, False
        last = await self.these_settings(sql, queue, names)
        if last is None:
            raise _forgotten()
        after = await self._catch_up(sql, queue.saw(last), last)
        return after, bool(await kept_settings.unread(sql, self._name, 1))

    async def these_settings(self, sql: Any, queue: Queue, names: Sequence[str]) -> str | None:
        """Write the present state of these settings to PostgreSQL. Returns the last event that Redis had when they were
        read; None if this Redis has lost data."""
        found = await self._redis.kept_settings(queue.epoch, queue.seen, names)
        if found is None:
            return None
        last, some = found
        await kept_settings.keep(sql, self._name, some, queues.moment(last))
        return last

    async def _catch_up(self, sql: Any, queue: Queue, last: str) -> Queue:
        """Write the tasks of all events up to `last`. This is the last event that Redis had when the settings were
        read."""
        while queues.is_before(queue.position, last):
            look = await self._redis.follow(queue.epoch, queue.position, queue.seen, EVENTS)
            if look.word is not Memory.OK:
                raise _forgotten()
            queue = await self.happened(sql, queue, look)
        return queue


def _forgotten() -> StoreUnavailableError:
    return StoreUnavailableError("Redis lost data while it was read: the data read is discarded")


REMOVALS = 1000  # looked for in one step
NOBODY_KNOWS = -1  # `since_ms` of a Redis that has lost data while it was rebuilt
KEYS = 1000  # looked at in one step of a sweep

_log = library_log.get_logger("holdfast.ledger")


@dataclass(frozen=True, slots=True)
class CountedBatches:
    """The batches whose ended tasks this process has put back into Redis in this epoch. If another process puts the
    same tasks back, this does no harm."""

    epoch: str
    batches: set[str] = field(default_factory=set[str])


class Rebuild:
    """Rebuilds a Redis from the ledger, step by step. `where`: the URL of the database, without its password."""

    def __init__(self, queue: str, where: str, redis: RedisLedger, ingesting: Ingestion) -> None:
        self._name = queue
        self._where = where
        self._redis = redis
        self._ingesting = ingesting
        self._counted = CountedBatches("")

    async def begin(self, sql: Any, queue: Queue, look: EventPage) -> Queue:
        """Begin a new epoch, because Redis has lost data."""
        only_events = look.word is Memory.MISSED
        await requests.give_again(sql, self._name)
        await kept_settings.lost(sql, self._name, only_events=only_events)
        log_fields = {"queue": self._name, "postgres": self._where}
        if only_events:
            _log.warning(
                "events were deleted before they were copied to PostgreSQL: all tasks are read again", **log_fields
            )
        else:
            if look.position:
                await self._redis.hold()
            _log.error(
                "REDIS HAS LOST DATA: it is rebuilt from PostgreSQL", since=look.position or "ever", **log_fields
            )
        return Queue(
            epoch=next_epoch(queue.epoch),
            phase=RebuildPhase.BOUNDING,
            cursor="",
            position="",
            witness="",
            since_ms=moment(look.position),
            losses=queue.losses + (look.word is Memory.LOST),
            restored=queue.restored,
        )

    async def step(self, sql: Any, queue: Queue) -> Queue:
        """Do the next step; if Redis has lost data in between, begin with the first step again."""
        if queue.phase is RebuildPhase.BOUNDING:
            return await self._bound(sql, queue)
        if await self._redis.rebuilding() != queue.epoch and await self._redis.owner() != queue.epoch:
            return await self._begin_again(sql, queue)
        match queue.phase:
            case RebuildPhase.CORRECTING:
                return await self._correct(sql, queue)
            case RebuildPhase.RESTORING:
                page = await tasks.to_put_back(sql, self._name, queue.cursor, TASKS)
                return await self._put_back(sql, queue, page, RebuildPhase.REMOVING)
            case RebuildPhase.REMOVING:
                return await self._remove(sql, queue)
            case RebuildPhase.SCHEDULING:
                return await self._schedule(sql, queue)
            case RebuildPhase.SWEEPING:
                return await self._sweep(sql, queue)
            case _:
                return await self._list(sql, queue)

    async def _begin_again(self, sql: Any, queue: Queue) -> Queue:
        await requests.give_again(sql, self._name)
        await kept_settings.lost(sql, self._name, only_events=False)
        return replace(queue, phase=RebuildPhase.BOUNDING, cursor="", since_ms=NOBODY_KNOWS)

    async def _bound(self, sql: Any, queue: Queue) -> Queue:
        if queue.since_ms > 0 or (queue.since_ms == NOBODY_KNOWS and await self._redis.holds_an_epoch()):
            await self._redis.hold()  # it was set back: tasks that had ended may wait there
        await self._redis.begin_rebuild(queue.epoch)
        await self._put_settings_back(queue, await kept_settings.before_tasks(sql, self._name, queue.since_ms))
        await deliver.give_changes(sql, self._name, self._redis, queue.epoch, of="rules|")
        await deliver.give_changes(sql, self._name, self._redis, queue.epoch, of="quiet|")
        return replace(queue, phase=RebuildPhase.CORRECTING)

    async def _correct(self, sql: Any, queue: Queue) -> Queue:
        """Put back tasks that have ended since the moment to which Redis was set back. If this moment is unknown, look
        at all tasks in Redis. Of these, put back the tasks that have ended by what the ledger knows."""
        if queue.since_ms > 0:
            page = await tasks.ended_since(sql, self._name, queue.since_ms, queue.cursor, TASKS)
            return await self._put_back(sql, queue, page, RebuildPhase.RESTORING)
        cursor, ids = await self._redis.known(queue.cursor, KEYS)
        await self._redis.remove(queue.epoch, await tasks.removals_of(sql, self._name, ids))
        async for ended in tasks.ended_of(sql, self._name, ids):
            await self._redis.restore(queue.epoch, ended)
        return replace(queue, cursor=cursor) if cursor else replace(queue, phase=RebuildPhase.RESTORING, cursor="")

    async def _put_back(self, sql: Any, queue: Queue, page: tuple[list[Dump], str], following: RebuildPhase) -> Queue:
        dumps, cursor = page
        if not dumps:
            return replace(queue, phase=following, cursor="")
        await self._redis.remove(
            queue.epoch, await tasks.removals_of(sql, self._name, [dump.task_id for dump in dumps])
        )
        async for parents in tasks.ended_parents(sql, self._name, dumps):
            await self._redis.restore(queue.epoch, parents)
        await self._put_batches_back(sql, queue, {dump.batch for dump in dumps} - {""})
        answers = await self._redis.restore(queue.epoch, dumps)
        reached(Point.RESTORED)
        for dump, (word, reason) in zip(dumps, answers, strict=False):
            if word is Restored.DAMAGED:
                _log.warning(
                    "a task is damaged in PostgreSQL or in Redis: it is not put back", task=dump.task_id, reason=reason
                )
        restored = sum(word in {Restored.RESTORED, Restored.MERGED} for word, _ in answers)
        return replace(queue, cursor=cursor, restored=queue.restored + restored)

    async def _remove(self, sql: Any, queue: Queue) -> Queue:
        """Remove the tasks from Redis that were removed after the moment to which Redis was set back. By now the
        children of these tasks are back in Redis, and have noted how their parents ended."""
        page, cursor = await tasks.removals_since(sql, self._name, queue.since_ms, queue.cursor, REMOVALS)
        if not page:
            await self._redis.release()
            return replace(queue, phase=RebuildPhase.SCHEDULING, cursor="")
        await self._redis.remove(queue.epoch, page)
        reached(Point.RESTORED)
        return replace(queue, cursor=cursor)

    async def _put_batches_back(self, sql: Any, queue: Queue, batches: set[str]) -> None:
        """Put the ended tasks of these batches back into Redis, once for each batch. Redis counts the ended tasks of a
        batch from them."""
        if self._counted.epoch != queue.epoch:
            self._counted = CountedBatches(queue.epoch)
        new = batches - self._counted.batches
        async for ended in tasks.ended_of_batches(sql, self._name, new):
            await self._redis.restore(queue.epoch, ended)
        self._counted.batches.update(new)

    async def _schedule(self, sql: Any, queue: Queue) -> Queue:
        page = await kept_settings.after_tasks(sql, self._name, queue.since_ms, queue.cursor, SETTINGS)
        if page:
            await self._put_settings_back(queue, page)
            return replace(queue, cursor=page[-1].name)
        await deliver.give_changes(sql, self._name, self._redis, queue.epoch)
        return replace(queue, phase=RebuildPhase.SWEEPING, cursor="")

    async def _put_settings_back(self, queue: Queue, page: Sequence[KeptSetting]) -> None:
        await self._redis.restore_settings(queue.epoch, page, set_back=queue.since_ms > 0)
        reached(Point.RESTORED)

    async def _sweep(self, sql: Any, queue: Queue) -> Queue:
        if not queue.cursor:  # the ledger follows the events from here on
            last = (await self._redis.dump([])).last
            queue = replace(queue, position=last, witness=last)
        cursor, ids = await self._redis.known(queue.cursor, KEYS)
        await self._redis.remove(queue.epoch, await tasks.removals_of(sql, self._name, ids))
        after = await self._ingesting.tasks(sql, queue, ids)
        if after is None:
            return await self._begin_again(sql, queue)
        return replace(after, cursor=cursor) if cursor else replace(after, phase=RebuildPhase.LISTING, cursor="")

    async def _list(self, sql: Any, queue: Queue) -> Queue:
        """Do one step of reading all settings in Redis. This comes after all tasks were read. So no schedule counts a
        task that the ledger has not read."""
        if not queue.cursor:
            await kept_settings.doubt(sql, self._name)
        cursor, ids = await self._redis.known_schedules(queue.cursor, SETTINGS)
        names = [*kept_settings.BEFORE_TASKS, *(f"schedule|{each}" for each in ids)]
        last = await self._ingesting.these_settings(sql, queue, names)
        if last is None:
            return await self._begin_again(sql, queue)
        queue = queue.saw(last)
        if cursor:
            return replace(queue, cursor=cursor)
        await kept_settings.all_read(sql, self._name, moment(last))
        await change_requests.carried_out(sql, self._name)
        await self._redis.end_rebuild(queue.epoch)
        _log.info(
            "the rebuild has ended: PostgreSQL now follows Redis",
            queue=self._name,
            put_back=queue.restored,
            losses=queue.losses,
        )
        return replace(queue, phase=RebuildPhase.FOLLOWING, cursor="")
