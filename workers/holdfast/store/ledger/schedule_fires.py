"""Fires of schedules: only by a Redis that has forgotten nothing, and none whose task is known."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import Due, Fire, FireOrder, Retired
from holdfast.errors import LedgerUnavailableError, StoreUnavailableError
from holdfast.store.ledger.base import LedgerStore
from holdfast.store.ledger.tables import tasks
from holdfast.store.ledger.tables.queues import Queue
from holdfast.store.redis.connection import Value
from holdfast.store.redis.ledger import ELSEWHERE
from holdfast.store.redis.schedules import found_due, halts_of

AGAIN_MS = 1000  # after which a Redis that is rebuilt is looked at again


class LedgerFires(LedgerStore):
    """What a steward asks of schedules."""

    async def due_schedules(self, limit: int, scope: HaltScope | None = None) -> Due:
        """None while Redis is not all that the ledger knows of it: a schedule might be there that was removed."""
        queue = await self._followed()
        found = None if queue is None else await self._behind("schedule_due", queue, limit, *halts_of(scope))
        return Due(await self.clock_ms(), (), AGAIN_MS) if found is None else found_due(found)

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[str]:
        """A fire whose task the ledger knows is not made again, whatever Redis remembers; and none as above."""
        queue = await self._followed()
        with suppress(LedgerUnavailableError):
            orders = await self._marked(orders)
        halts = halts_of(scope)
        answers = None if queue is None else await self._behind("schedule_fire", queue, self._packed(orders), *halts)
        if answers is not None:
            return [answer.decode() for answer in answers]
        if any(order.kind == "extra" for order in orders):
            raise StoreUnavailableError("Redis is being rebuilt from PostgreSQL: a schedule can be run after that")
        return ["stale"] * len(orders)

    async def retire_schedules(self, seen: str, limit: int) -> Retired:
        """None while Redis is not all that the ledger knows of it: what is put back then would come after its end."""
        return Retired("") if await self._followed() is None else await super().retire_schedules(seen, limit)

    async def _behind(self, operation: str, queue: Queue, *args: Value) -> Any:
        """What an operation answers that only a Redis may do which has forgotten nothing; None where it has."""
        answer = await self._run_behind("followed", operation, *args, queue.epoch, queue.seen)
        return None if answer == ELSEWHERE else answer

    async def _marked(self, orders: Sequence[FireOrder]) -> list[FireOrder]:
        ids = [each for order in orders for fire in order.fires for each in _ids(fire)]
        async with self.database.transaction() as sql:
            known = await tasks.known(sql, self._queue, ids)
        return [
            replace(order, fires=tuple(replace(fire, made=_made(fire, known)) for fire in order.fires))
            for order in orders
        ]


def _ids(fire: Fire) -> tuple[str, ...]:
    return (fire.task.task_id, fire.earlier) if fire.earlier else (fire.task.task_id,)


def _made(fire: Fire, known: Collection[str]) -> str:
    return next((each for each in _ids(fire) if each in known), "")
