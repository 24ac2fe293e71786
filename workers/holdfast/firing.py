"""One round of firing: what is due is ordered, page by page, until nothing is. Any number of stewards may do it."""

from __future__ import annotations

import msgspec
import structlog

from holdfast.broker.port import ScheduleStore
from holdfast.core import firing
from holdfast.core.definitions import Definition, Due, FireOrder, ScheduleRecord
from holdfast.core.firing import fire_id
from holdfast.core.records import Submission
from holdfast.core.schedules import due, expected_after
from holdfast.defining import task_of
from holdfast.errors import InvalidScheduleError, InvalidTaskError
from holdfast.killpoints import Point, reached
from holdfast.schedulespec import ScheduleSpec
from holdfast.submitting import submission

PAGE = 100
REST = 1.0  # seconds

_log = structlog.get_logger("holdfast.firing")

_spec = msgspec.json.Decoder(ScheduleSpec).decode


class Firing:
    """`queue` is the lane of what names none."""

    def __init__(self, store: ScheduleStore, queue: str, max_bytes: int) -> None:
        self._store = store
        self._queue = queue
        self._max_bytes = max_bytes

    async def round(self) -> float | None:
        """Seconds until the next fire is due, None if none is known."""
        while True:
            found = await self._store.due_schedules(PAGE)
            orders = await self._orders(found)
            if orders:
                reached(Point.BEFORE_FIRE)
                await self._store.fire(orders)
                reached(Point.FIRED)
            for record in found.records:
                if record.paused:
                    await self._resume(record, found.now)
            if not found.records:
                return None if found.wait is None else found.wait / 1000
            if not orders and not any(record.paused for record in found.records):
                return REST  # what is due by the store's index is not by its record: never in a tight loop

    async def _orders(self, found: Due) -> list[FireOrder]:
        orders: list[FireOrder] = []
        for record in found.records:
            try:
                order = self.order(record, found.now)
            except Exception as error:  # the border of one schedule: what is wrong with it shall not stop the others
                _log.exception("a schedule cannot be fired; it is paused", schedule=record.definition.schedule_id)
                await self._store.pause_schedule(record.definition.schedule_id, f"cannot be fired: {error}", None)
            else:
                orders += [order] if order is not None else []
        return orders

    def order(self, record: ScheduleRecord, now: int) -> FireOrder | None:
        """What is to be done about a schedule now; None for nothing."""
        return firing.order(record, now, self.make)

    def check(self, definition: Definition) -> None:
        """Whether its tasks can be made; InvalidScheduleError."""
        try:
            self._task(definition, fire_id(definition.schedule_id, 0))
        except InvalidTaskError as error:
            raise InvalidScheduleError(str(error)) from None

    def make(self, record: ScheduleRecord, task_id: str) -> Submission:
        """The task of a fire."""
        return self._task(record.definition, task_id)

    def _task(self, definition: Definition, task_id: str) -> Submission:
        spec = _spec(definition.spec)
        return submission(msgspec.structs.replace(task_of(spec), task_id=task_id), self._queue, self._max_bytes)

    async def _resume(self, record: ScheduleRecord, now: int) -> None:
        """Its pause is over."""
        await resume(self._store, record, now)


async def resume(store: ScheduleStore, record: ScheduleRecord, now: int) -> str:
    """Let a paused schedule go on with its first fire after `now`: what came due meanwhile is not made up for."""
    expected = record.expected
    if expected is not None and expected <= now:
        expected = expected_after(record.schedule, now)
    moment = None if expected is None else due(record.schedule, expected)
    return await store.resume_schedule(record.definition.schedule_id, record.generation, expected, moment)
