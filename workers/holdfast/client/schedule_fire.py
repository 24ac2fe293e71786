"""Creates the tasks of due schedules, in rounds. A round reads due schedules page by page and sends the store an order
for each, until no schedule is due. Any number of stewards may do this at the same time."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import anyio.lowlevel
import msgspec

from holdfast.client.schedule_definition import ScheduleSpec, task_of
from holdfast.client.submission import ProducerTrace, submission
from holdfast.core import schedule_records
from holdfast.core.acceptance import Submission
from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import (
    Definition,
    Due,
    FireAnswer,
    FireOrder,
    ScheduleAnswer,
    ScheduleRecord,
    SpoiltSchedule,
    fire_id,
)
from holdfast.core.schedules import due, expected_after
from holdfast.errors import InvalidScheduleError, InvalidTaskError, StoreError
from holdfast.os.kill_points import Point, reached
from holdfast.store import Store
from holdfast.telemetry.port import FireSpans
from holdfast_config import library_log

# Prepare the orders of the next two seconds, so that a steward only has to send them when they are due.
#
# A thousand orders that are due at once would be late if they were made only then. The store compares a prepared order
# with the current record of the schedule, and refuses the order if the schedule has changed. When a schedule is due, a
# round finds it if no order was prepared, or if the order was refused. Moments are milliseconds of the store's clock.
# Each look reads this clock; between two looks the local clock counts on.

AHEAD = 2_000  # ms
MOST = 4_000  # prepared orders that are kept; one takes a few kilobytes
PAGE = 100

Decide = Callable[[ScheduleRecord, int], FireOrder | None]


@dataclass(slots=True)
class Lookahead:
    """Prepares orders for schedules that will be due soon. `clock` counts seconds. `_ready`: prepared orders, the
    earliest first. `_seen`: the moment up to which due schedules have been read."""

    store: Store
    decide: Decide
    clock: Callable[[], float]
    _ready: deque[FireOrder] = field(default_factory=deque[FireOrder])
    _seen: int = 0
    _read_ms: int = 0
    _read_at: float = 0.0

    def note(self, now: int) -> None:
        """Record the store's clock, and drop prepared orders that were due by then: the store has carried them out or
        refused them."""
        if now < self._read_ms:  # the clock was set back
            self._seen = 0
            self._ready.clear()
        self._read_ms, self._read_at = now, self.clock()
        while self._ready and self._ready[0].good_from <= now:
            self._ready.popleft()

    def due(self) -> list[FireOrder]:
        """Take out the prepared orders that are due now."""
        now = self._now()
        found: list[FireOrder] = []
        while self._ready and self._ready[0].good_from <= now:
            found.append(self._ready.popleft())
        return found

    async def look(self, now: int, wait: int) -> float:
        """Prepare orders if there is time. Returns the seconds to rest until the next schedule is due, which is in
        `wait` ms."""
        if wait > AHEAD:
            return (wait - AHEAD) / 1000
        if self._seen < now + AHEAD // 2:
            await self._prepare(max(self._seen, now), now + AHEAD, now + wait)
        return max(0.0, (now + wait - self._now()) / 1000)

    async def _prepare(self, after: int, until: int, first: int) -> None:
        """Prepare the orders that are due between `after` and `until`. Stop as soon as the first schedule is due, so
        that its task is not late because of the others."""
        self._seen = until
        for offset in range(0, MOST, PAGE):
            page = await self.store.schedules_soon(after, until, offset, PAGE)
            for record in page:
                await anyio.lowlevel.checkpoint()
                if len(self._ready) >= MOST or self._now() >= first:
                    return
                self._ready += self._ordered(record)
            if len(page) < PAGE:
                return

    def _ordered(self, record: ScheduleRecord) -> list[FireOrder]:
        if record.due is None:
            return []
        try:
            order = self.decide(record, record.due)
        except Exception:  # the border of one schedule: its error is reported when it is due
            return []
        return [] if order is None else [order]

    def _now(self) -> float:
        """The time of the store's clock, or a little less, because the answer with the clock took time to arrive."""
        return self._read_ms + (self.clock() - self._read_at) * 1000


MOST_FIRES = 50  # tasks created by one call: the store takes about 2 ms for them, and all other clients wait
REST = 1.0  # seconds
SOON = 2  # ms

_log = library_log.get_logger("holdfast.client.schedule_fire")

_spec = msgspec.json.Decoder(ScheduleSpec).decode


class ScheduleFirer:
    """Creates the tasks of schedules. `queue`: the lane of tasks whose schedule names no lane. `clock` counts seconds.
    `scope`: the halts during which no tasks are created. `spans` makes a span for each created task. `halted`: the last
    round found a halt of this scope."""

    def __init__(
        self,
        store: Store,
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
        """Create the tasks of all due schedules. Returns the seconds until the next round; None if no schedule has a
        further run."""
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
                return REST  # the index names due schedules, but their records do not: rest, to avoid a busy loop

    async def _catch_up(self, due: Due) -> bool:
        """Create the tasks of due schedules in parts, so that other duties get their turn in between. Returns True if
        it created tasks or resumed schedules."""
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
            if await self._store.set_schedule_aside(one) == ScheduleAnswer.ASIDE:
                _log.error("a schedule cannot be read; it is set aside", schedule=one.schedule_id, reason=one.why)

    async def go_on(self, schedule_ids: Sequence[str]) -> list[str]:
        """Create the next tasks of these CONTINUE schedules, whose last tasks have ended. Returns the ids to try again:
        those due within 2 ms, and those whose order the store refused because their record had changed."""
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
            early += [one.schedule_id for one, answer in zip(some, answers, strict=True) if answer == FireAnswer.STALE]
        return early

    async def _carried_out(self, orders: Sequence[FireOrder]) -> bool:
        """Send orders to the store; True if it carried out any of them."""
        anything = False
        for some in _parts(orders):
            reached(Point.BEFORE_FIRE)
            answers = await self._store.fire(some, self._scope)
            reached(Point.FIRED)
            self._tell_fired(some, answers)
            anything |= any(answer not in {FireAnswer.STALE, FireAnswer.HALTED} for answer in answers)
        return anything

    def _tell_fired(self, orders: Sequence[FireOrder], answers: Sequence[FireAnswer]) -> None:
        if self._spans is None:
            return
        for order, answer in zip(orders, answers, strict=True):
            if answer == FireAnswer.FIRED:
                for fire in order.fires:
                    self._spans.fired(order.schedule_id, fire)

    def _note_halt(self, halted: bool) -> None:
        if halted != self.halted and not (self._scope and self._scope.ends):
            _log.warning(
                "this host is halted: it fires no schedules"
                if halted
                else "the halt of this host has ended: it fires schedules again"
            )
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
        """The order for a schedule at `now`; None if the schedule is not due."""
        return schedule_records.order_fire(record, now, self.make)

    def check(self, definition: Definition) -> None:
        """Check that the tasks of a definition can be made. Raises InvalidScheduleError."""
        try:
            self._task(definition, fire_id(definition.schedule_id, 0))
        except InvalidTaskError as error:
            raise InvalidScheduleError(str(error)) from None

    def make(self, record: ScheduleRecord, task_id: str) -> Submission:
        """The submission of the task for one run of a schedule."""
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
    """Yield the orders in parts. A part creates at most MOST_FIRES tasks, and goes to the store in one call."""
    part, fires = list[FireOrder](), 0
    for one in orders:
        if part and fires + len(one.fires) > MOST_FIRES:
            yield part
            part, fires = [], 0
        part.append(one)
        fires += max(1, len(one.fires))
    if part:
        yield part


async def resume(store: Store, record: ScheduleRecord, now: int) -> ScheduleAnswer:
    """Resume a paused schedule; its next run is the first one after `now` (Unix milliseconds). Runs missed during the
    pause are skipped."""
    expected = record.expected
    if expected is not None and expected <= now:
        expected = expected_after(record.schedule, now)
    moment = None if expected is None else due(record.schedule, expected)
    return await store.resume_schedule(record.definition.schedule_id, record.generation, expected, moment)
