"""Fires schedules in rounds: due schedules are ordered, page by page, until none is due. Any number of stewards may
do it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

import anyio.lowlevel
import msgspec
import structlog

from holdfast.client.lookahead import Lookahead
from holdfast.client.schedule_definition import task_of
from holdfast.client.schedule_spec import ScheduleSpec
from holdfast.client.submission import submission
from holdfast.client.submit_trace import ProducerTrace
from holdfast.core import fire_order
from holdfast.core.fire_order import fire_id
from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import Definition, Due, FireOrder, ScheduleRecord, SpoiltSchedule
from holdfast.core.schedules import due, expected_after
from holdfast.core.tasks import Submission
from holdfast.errors import InvalidScheduleError, InvalidTaskError, StoreError
from holdfast.os.kill_points import Point, reached
from holdfast.store.protocol import ScheduleStore
from holdfast.telemetry.port import FireSpans

PAGE = 100  # schedules that are read at once
MOST_FIRES = 50  # fires of one call: some 2 ms, for which all other clients wait
REST = 1.0  # seconds
SOON = 2  # ms

_log = structlog.get_logger("holdfast.client.schedule_fire")

_spec = msgspec.json.Decoder(ScheduleSpec).decode


class ScheduleFirer:
    """`queue`: the lane of tasks that name none; `clock` counts seconds; `scope`: the halts during which it makes no
    fires; `spans` makes a span of each. `halted`: such a halt lasts, as of the last round."""

    def __init__(
        self,
        store: ScheduleStore,
        queue: str,
        max_bytes: int,
        clock: Callable[[], float] = time.monotonic,
        scope: HaltScope | None = None,
        spans: FireSpans | None = None,
    ) -> None:
        self.halted = False
        self._spans = spans
        self._scope = scope
        self._store = store
        self._queue = queue
        self._max_bytes = max_bytes
        self._lookahead = Lookahead(store, self.order, clock)

    async def round(self) -> float | None:
        """Make the fires that are due; seconds until the next round, None if no fire is known to come."""
        await self._carried_out(self._lookahead.due())
        while True:
            due = await self._store.due_schedules(PAGE, self._scope)
            self._note_halt(due.halted)
            if due.halted:
                return None
            self._lookahead.note(due.now)
            if not due.records and not due.spoilt:
                return None if due.wait is None else await self._lookahead.look(due.now, due.wait)
            await self._set_aside(due.spoilt)
            if not await self._catch_up(due) and not due.spoilt:
                return REST  # the index and the record disagree about what is due: never in a tight loop

    async def _catch_up(self, due: Due) -> bool:
        """Make the fires that are due, in parts, as other duties wait meanwhile; True if there were some."""
        anything, orders = False, list[FireOrder]()
        for record in due.records:
            orders += await self._ordered(record, due.now)
            if sum(len(one.fires) for one in orders) >= MOST_FIRES:
                anything |= await self._carried_out(orders)
                orders = []
            if record.paused:
                await self._resume(record, due.now)
                anything = True
        return await self._carried_out(orders) or anything

    async def _set_aside(self, spoilt: Sequence[SpoiltSchedule]) -> None:
        for one in spoilt:
            if await self._store.set_schedule_aside(one) == "aside":
                _log.error("a schedule cannot be read; it is set aside", schedule=one.schedule_id, reason=one.why)

    async def go_on(self, schedule_ids: Sequence[str]) -> list[str]:
        """Make the fires of schedules that go on, now that their tasks have ended, unless they are due later."""
        records = [record for one in schedule_ids if (record := await self._store.schedule(one))]
        now = await self._store.clock_ms()
        orders, early = list[FireOrder](), list[str]()
        for record in records:
            ordered = await self._ordered(record, now)
            orders += ordered
            if not ordered and record.due is not None and now < record.due <= now + SOON:
                early.append(record.definition.schedule_id)
        for some in _parts(orders):
            answers = await self._store.fire(some, self._scope)
            self._tell_fired(some, answers)
            early += [one.schedule_id for one, answer in zip(some, answers, strict=True) if answer == "stale"]
        return early

    async def _carried_out(self, orders: Sequence[FireOrder]) -> bool:
        """Have the store carry out orders; True if it carried out any."""
        anything = False
        for some in _parts(orders):
            reached(Point.BEFORE_FIRE)
            answers = await self._store.fire(some, self._scope)
            reached(Point.FIRED)
            self._tell_fired(some, answers)
            anything |= any(answer not in {"stale", "halted"} for answer in answers)
        return anything

    def _tell_fired(self, orders: Sequence[FireOrder], answers: Sequence[str]) -> None:
        if self._spans is None:
            return
        for order, answer in zip(orders, answers, strict=True):
            if answer == "fired":
                for fire in order.fires:
                    self._spans.fired(order.schedule_id, fire)

    def _note_halt(self, halted: bool) -> None:
        if halted != self.halted and not (self._scope and self._scope.ends):
            _log.warning("this host is halted: no fires are made" if halted else "this host makes fires again")
        self.halted = halted

    async def _ordered(self, record: ScheduleRecord, now: int) -> list[FireOrder]:
        await anyio.lowlevel.checkpoint()
        try:
            order = self.order(record, now)
        except Exception as error:  # the border of one schedule: its error must not stop the others
            await self._pause(record, error)
            return []
        return [] if order is None else [order]

    def order(self, record: ScheduleRecord, now: int) -> FireOrder | None:
        """The order for a schedule now; None if there is nothing to do."""
        return fire_order.order(record, now, self.make)

    def check(self, definition: Definition) -> None:
        """Check that its tasks can be made; InvalidScheduleError."""
        try:
            self._task(definition, fire_id(definition.schedule_id, 0))
        except InvalidTaskError as error:
            raise InvalidScheduleError(str(error)) from None

    def make(self, record: ScheduleRecord, task_id: str) -> Submission:
        """The task of a fire."""
        return self._task(record.definition, task_id)

    def _task(self, definition: Definition, task_id: str) -> Submission:
        spec = _spec(definition.spec)
        trace = None if self._spans is None else ProducerTrace(*self._spans.names(task_id))
        task = msgspec.structs.replace(task_of(spec), task_id=task_id)
        return submission(task, self._queue, self._max_bytes, trace)

    async def _resume(self, record: ScheduleRecord, now: int) -> None:
        """Resume a schedule whose pause is over."""
        try:
            await resume(self._store, record, now)
        except StoreError:
            raise
        except Exception as error:  # the border of one schedule, as above
            await self._pause(record, error)

    async def _pause(self, record: ScheduleRecord, error: Exception) -> None:
        schedule_id = record.definition.schedule_id
        _log.error("a schedule cannot be fired; it is paused", schedule=schedule_id, exc_info=error)
        await self._store.pause_schedule(schedule_id, f"cannot be fired: {error}", None)


def _parts(orders: Sequence[FireOrder]) -> Iterator[list[FireOrder]]:
    """The orders in parts, each with as many fires as one call should make."""
    part, fires = list[FireOrder](), 0
    for one in orders:
        if part and fires + len(one.fires) > MOST_FIRES:
            yield part
            part, fires = [], 0
        part.append(one)
        fires += max(1, len(one.fires))
    if part:
        yield part


async def resume(store: ScheduleStore, record: ScheduleRecord, now: int) -> str:
    """Resume a paused schedule with its first fire after `now`; fires that were due meanwhile are not made up for."""
    expected = record.expected
    if expected is not None and expected <= now:
        expected = expected_after(record.schedule, now)
    moment = None if expected is None else due(record.schedule, expected)
    return await store.resume_schedule(record.definition.schedule_id, record.generation, expected, moment)
