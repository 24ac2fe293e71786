"""Runs changes of schedules, lanes and hosts: written to PostgreSQL first, then run by Redis.

Once answered, a change is durable.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from holdfast.core.tasks import KeptTask
from holdfast.errors import LedgerUnavailableError, StoreError, StoreUnavailableError
from holdfast.os.kill_points import Point, reached
from holdfast.store.ledger import change_requests, request_order
from holdfast.store.ledger.change_requests import ChangeReceipt
from holdfast.store.ledger.followed_queue import FollowedQueue, epoch_of
from holdfast.store.ledger.tables import queues, requests
from holdfast.store.redis.connection import Value
from holdfast.store.redis.ledger import ELSEWHERE, OVERTAKEN, RedisLedger
from holdfast.store.redis.part import Run

FIRST_ROUNDS = 50  # rounds for a queue that is new to the ledger: enough for an empty one


class WriteAhead:
    """`run` is that of the connection, with changes written first. `keep`: a round of the keeper's work."""

    def __init__(
        self,
        queue: FollowedQueue,
        redis: RedisLedger,
        run: Run,
        keep: Callable[[], Awaitable[KeptTask]],
    ) -> None:
        self._queue = queue.name
        self._database = queue.database
        self._redis = redis
        self._run = run
        self._keep = keep

    async def run(self, name: str, *args: Value) -> Any:
        """As Connection.run; StoreUnavailableError says so where a change is kept, and is carried out later."""
        setting = change_requests.setting_of(name, args)
        if not setting:
            return await self._run(name, *args)
        epoch, entered = await self._enter(setting, name, args)
        reached(Point.WRITTEN)
        if not epoch or (
            entered.blocked and not await request_order.wait(self._database, self._queue, [setting], entered.request)
        ):
            raise StoreUnavailableError(_kept(setting, "Redis is being rebuilt, or was away until now"))
        answer = await self._carry_out(epoch, setting, entered, name, args)
        reached(Point.GIVEN)
        with suppress(LedgerUnavailableError):  # its events show it as well
            async with self._database.transaction() as sql:
                await requests.given(sql, [entered.request])
        return answer

    async def _enter(self, setting: str, operation: str, args: tuple[Value, ...]) -> tuple[str, ChangeReceipt]:
        """Accept a change; the epoch of the Redis that it may be given to (empty: none), and its receipt."""
        async with self._database.transaction() as sql:
            if (queue := await queues.read(sql, self._queue)) is not None:
                return epoch_of(queue), await change_requests.enter(sql, self._queue, setting, operation, args)
        await self._begin()
        async with self._database.transaction() as sql:
            queue = await queues.read(sql, self._queue)
            return epoch_of(queue), await change_requests.enter(sql, self._queue, setting, operation, args)

    async def _begin(self) -> None:
        """Nobody has kept this queue yet: schedules may be set before the first supervisor is started."""
        for _ in range(FIRST_ROUNDS):
            kept = await self._keep()
            if kept.busy or not kept.rebuilding:
                return

    async def _carry_out(
        self, epoch: str, setting: str, entered: ChangeReceipt, operation: str, args: tuple[Value, ...]
    ) -> object:
        try:
            answer: object = await self._redis.request(epoch, setting, entered.request, operation, args)
        except StoreUnavailableError as error:
            raise StoreUnavailableError(_kept(setting, str(error))) from error
        except StoreError:  # refused, and will be again
            async with self._database.transaction() as sql:
                await requests.drop(sql, [entered.request])
            raise
        if answer == ELSEWHERE:
            raise StoreUnavailableError(_kept(setting, "Redis is another one, or is being rebuilt"))
        if answer == OVERTAKEN:
            raise StoreError(
                f"the request for {_named(setting)} was carried out long ago, and its answer is no longer kept"
            )
        return answer


def _kept(setting: str, why: str) -> str:
    return f"{why}; the request for {_named(setting)} is kept in PostgreSQL and is carried out as soon as that is over"


def _named(setting: str) -> str:
    kind, _, name = setting.partition("|")
    return f"schedule {name}" if kind == "schedule" else {"rules": "lanes", "quiet": "hosts"}[kind]
