"""Schedules: only a Redis that has lost nothing may fire them, and no fire whose task is known is made again."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import Due, FireOrder, Retired
from holdfast.errors import LedgerUnavailableError, StoreUnavailableError
from holdfast.store.ledger.change_requests import FollowedQueue
from holdfast.store.ledger.tables import tasks
from holdfast.store.ledger.tables.queues import Queue
from holdfast.store.redis.connection import Connection, Value
from holdfast.store.redis.ledger import ELSEWHERE
from holdfast.store.redis.schedules import RedisSchedules, found_due, halts_of, packed_orders

AGAIN_MS = 1000  # the wait while Redis is rebuilt


class LedgerSchedules:
    """The calls about schedules. `schedules`: those of Redis, with changes written to PostgreSQL first."""

    def __init__(self, queue: FollowedQueue, connection: Connection, schedules: RedisSchedules) -> None:
        self._queue = queue
        self._connection = connection
        self._schedules = schedules
        self.put_schedule = schedules.put_schedule
        self.schedules_soon = schedules.schedules_soon
        self.set_schedule_aside = schedules.set_schedule_aside
        self.pause_schedule = schedules.pause_schedule
        self.resume_schedule = schedules.resume_schedule
        self.remove_schedule = schedules.remove_schedule
        self.schedule = schedules.schedule
        self.schedules = schedules.schedules
        self.schedules_of = schedules.schedules_of
        self.undeclared_schedules = schedules.undeclared_schedules
        self.schedule_history = schedules.schedule_history
        self.wait_fires = schedules.wait_fires
        self.clock_ms = schedules.clock_ms

    async def due_schedules(self, limit: int, scope: HaltScope | None = None) -> Due:
        """None are due while Redis is not as the ledger knows it: it might hold a schedule that was removed."""
        queue = await self._queue.read()
        found = None if queue is None else await self._behind("schedule_due", queue, limit, *halts_of(scope))
        return Due(await self.clock_ms(), (), AGAIN_MS) if found is None else found_due(found)

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[str]:
        """A fire whose task the ledger knows is not made again; none is made while Redis is not as the ledger knows
        it."""
        queue = await self._queue.read()
        with suppress(LedgerUnavailableError):
            orders = await self._marked(orders)
        halts = halts_of(scope)
        answers = (
            None
            if queue is None
            else await self._behind("schedule_fire", queue, packed_orders(orders, self._connection.keys), *halts)
        )
        if answers is not None:
            return [answer.decode() for answer in answers]
        if any(order.kind == "extra" for order in orders):
            raise StoreUnavailableError("Redis is being rebuilt from PostgreSQL: a schedule can be run after that")
        return ["stale"] * len(orders)

    async def retire_schedules(self, seen: str, limit: int) -> Retired:
        """None while Redis is not as the ledger knows it: a schedule that is put back would come after its removal."""
        return Retired("") if await self._queue.read() is None else await self._schedules.retire_schedules(seen, limit)

    async def _behind(self, operation: str, queue: Queue, *args: Value) -> Any:
        """The answer of an operation that only a Redis without losses may run; None if Redis has lost data."""
        answer = await self._connection.run_behind("followed", operation, *args, queue.epoch, queue.seen)
        return None if answer == ELSEWHERE else answer

    async def _marked(self, orders: Sequence[FireOrder]) -> list[FireOrder]:
        ids = [fire.task.task_id for order in orders for fire in order.fires]
        async with self._queue.database.transaction() as sql:
            known = await tasks.known(sql, self._queue.name, ids)
        return [
            replace(order, fires=tuple(replace(fire, is_made=fire.task.task_id in known) for fire in order.fires))
            for order in orders
        ]
