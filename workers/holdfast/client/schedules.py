"""The API of schedules: set, read, pause, run and remove them.

    await manager.schedules.upsert("nightly", cron="0 2 * * *", timezone="Europe/Berlin", name="billing.close_day")

A call checks its arguments before it writes anything. Every schedule has an id, which the caller chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import islice
from typing import Any

import anyio.lowlevel

from holdfast.client.arguments import check_limit, check_list, check_moment, check_reason
from holdfast.client.schedule_definition import (
    ScheduleChange,
    ScheduleSpec,
    check_owner,
    check_schedule_id,
    define,
    read_spec,
    spelled,
)
from holdfast.client.schedule_fire import ScheduleFirer, resume
from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_spec import keywords_after_one
from holdfast.core import schedule_records
from holdfast.core.cadence.moments import local
from holdfast.core.plain_json import shown
from holdfast.core.schedule_records import (
    FireAnswer,
    Occurrence,
    Put,
    PutAnswer,
    ScheduleAnswer,
    SchedulePage,
    ScheduleRecord,
)
from holdfast.core.schedules import due, expected_after, series
from holdfast.core.trail import Chronicle
from holdfast.errors import InvalidScheduleError, ScheduleBusyError, UnknownScheduleError, UnreadableScheduleError
from holdfast.store import Store

MOST_SHOWN = 1000
_DIGITS = 12  # of a cursor


class Schedules:
    """The schedules of one queue."""

    def __init__(
        self, store: Store, queue: str, max_bytes: int = 1048576, retries: SubmitRetries | None = None
    ) -> None:
        self._store = store
        self._firing = ScheduleFirer(store, queue, max_bytes)
        self._call = (retries or SubmitRetries()).call

    @keywords_after_one(ScheduleSpec)
    async def upsert(self, schedule_id: str, /, **spec: Any) -> datetime | None:
        """Set this schedule, with the arguments of ScheduleSpec. Returns the moment of its next run; None if there is
        none. The same spec set again changes nothing: a paused schedule stays paused, and an ended one stays ended.
        Raises InvalidScheduleError."""
        expected = (await self.put(schedule_id, read_spec(spec))).expected
        return None if expected is None else local(expected, "UTC").astimezone(UTC)

    async def put(self, schedule_id: str, spec: ScheduleSpec, *, again: bool = False, after: int | None = None) -> Put:
        """Set a schedule from a spec, like `upsert`. `again`: an ended schedule starts over. `after` (Unix
        milliseconds): planned runs up to this moment are skipped."""
        if after is not None:
            check_moment("after", after)
        now = await self._now()
        found = await self._defined_or_same(schedule_id, spec, now, after)
        if isinstance(found, ScheduleRecord):
            return Put(PutAnswer.SAME, found.generation, found.expected)
        return await self._put(found, again=again)

    async def declare(
        self, schedule_id: str, spec: ScheduleSpec, application: str = "", asked: int | None = None
    ) -> Put:
        """Set a schedule that the code of an application declares. The application then owns the schedule, even if
        somebody else has set it before with the same spec. If another running application declares the schedule, the
        store leaves it unchanged.

        `asked` (Unix milliseconds): the moment at which this worker first declared the schedule, if the schedule
        belonged to another application at that moment. If a newer worker of the same application has declared the
        schedule since, its declaration stays.
        """
        found = await self._defined_or_same(schedule_id, spec, await self._now())
        owned = replace(found.definition, owner=spec.owner or check_owner(application), declared=True)
        return await self._put(ScheduleChange(owned, found.expected), asked=asked)

    async def put_all(self, specs: Mapping[str, ScheduleSpec]) -> None:
        """Set these schedules, given by id. All are checked before the first is written. Raises InvalidScheduleError,
        which names the id."""
        for defined in await self._defined(specs):
            await self._put(defined)

    async def begin(self, schedule_id: str) -> None:
        """Create the tasks of this schedule that are due now, without waiting for a steward. Raises
        UnknownScheduleError."""
        record = await self.get(schedule_id)
        order = self._firing.order(record, await self._now())
        if order is not None:
            await self._call(self._store.fire, [order])

    async def check(self, schedule_id: str, spec: ScheduleSpec) -> None:
        """Check that `put` would accept the spec, and write nothing. Raises InvalidScheduleError."""
        self._define(schedule_id, spec, await self._now())

    async def check_all(self, specs: Mapping[str, ScheduleSpec]) -> None:
        """Check that `put_all` would accept the specs, and write nothing. Raises InvalidScheduleError."""
        await self._defined(specs)

    async def _now(self) -> int:
        return await self._call(self._store.clock_ms)

    async def _defined(self, specs: Mapping[str, ScheduleSpec]) -> list[ScheduleChange]:
        _check_mapping(specs)
        now, changes = await self._now(), list[ScheduleChange]()
        for schedule_id, spec in specs.items():
            await anyio.lowlevel.checkpoint()  # others may need the loop meanwhile
            try:
                found = await self._defined_or_same(schedule_id, spec, now)
            except InvalidScheduleError as error:
                raise InvalidScheduleError(f"schedules.{_name(schedule_id)}: {error}") from None
            changes += [] if isinstance(found, ScheduleRecord) else [found]
        return changes

    async def _defined_or_same(
        self, schedule_id: str, spec: ScheduleSpec, now: int, after: int | None = None
    ) -> ScheduleChange | ScheduleRecord:
        """The definition for a spec. If the spec has no future runs but is already stored for this schedule, returns
        the stored record instead of raising InvalidScheduleError."""
        try:
            return self._define(schedule_id, spec, now, after)
        except InvalidScheduleError:
            record = await self._call(self._store.schedule, check_schedule_id(schedule_id))
            with suppress(TypeError, UnicodeError):  # a spec that JSON cannot hold was never stored
                if record is not None and record.definition.spec == spelled(spec):
                    return record
            raise

    def _define(self, schedule_id: str, spec: ScheduleSpec, now: int, after: int | None = None) -> ScheduleChange:
        defined = define(schedule_id, spec, now, after)
        self._firing.check(defined.definition)
        return defined

    async def _put(self, defined: ScheduleChange, *, again: bool = False, asked: int | None = None) -> Put:
        definition, expected = defined.definition, defined.expected
        first = None if expected is None else due(definition.schedule(), expected)
        return await self._call(self._store.put_schedule, definition, expected, first, again=again, asked=asked)

    async def get(self, schedule_id: str) -> ScheduleRecord:
        """The schedule's record. Raises UnknownScheduleError, or UnreadableScheduleError if the record is damaged."""
        record = await self._call(self._store.schedule, check_schedule_id(schedule_id))
        if record is None:
            raise UnknownScheduleError(f"no schedule {schedule_id}; `supervisor schedules list` shows all schedules")
        return record

    async def list(self, limit: int = 100, cursor: str = "") -> SchedulePage:
        """A page of schedules, ordered by their next run. Schedules without a next run come last."""
        return await self._call(self._store.schedules, check_limit(limit), _place(cursor))

    async def owned(self, owner: str) -> frozenset[str]:
        """The ids of all schedules of an owner."""
        ids, cursor = set[str](), ""
        while True:
            page, cursor = await self._call(self._store.schedules_of, check_owner(owner), MOST_SHOWN, cursor)
            ids.update(page)
            if not cursor:
                return frozenset(ids)

    async def known(self, schedule_ids: Iterable[str]) -> tuple[ScheduleRecord, ...]:
        """The records of the schedules with these ids. Schedules that do not exist or cannot be read are left out."""
        ids = [check_schedule_id(one) for one in check_list("schedule_ids", schedule_ids, "ids")]
        records = list[ScheduleRecord]()
        for one in ids:
            with suppress(UnreadableScheduleError):
                record = await self._call(self._store.schedule, one)
                records += [] if record is None else [record]
        return tuple(records)

    async def pause(
        self, schedule_id: str, reason: str = "paused by a producer", until: datetime | None = None
    ) -> None:
        """Pause a schedule: it creates no tasks until it is resumed, or until the date `until`. Raises
        UnknownScheduleError."""
        moment, why = _moment(until), check_reason(reason) or "paused"
        if until is not None and moment is not None and moment <= await self._now():
            raise InvalidScheduleError(f"until {until.isoformat()} has passed: give a time in the future")
        word = await self._call(self._store.pause_schedule, check_schedule_id(schedule_id), why, moment)
        _known(schedule_id, word)

    async def resume(self, schedule_id: str) -> None:
        """Resume a paused schedule; its next run is the first one after now. Runs missed during the pause are
        skipped."""
        record = await self.get(schedule_id)
        _known(schedule_id, await self._call(resume, self._store, record, await self._call(self._store.clock_ms)))

    async def remove(self, schedule_id: str) -> None:
        """Remove the schedule with its history; its running task goes on. Raises UnknownScheduleError."""
        _known(schedule_id, await self._call(self._store.remove_schedule, check_schedule_id(schedule_id)))

    async def run(self, schedule_id: str) -> str:
        """Create one extra task of the schedule now, even if the schedule is paused; returns the task's id. Raises
        ScheduleBusyError if the previous task has not ended and `overlap` forbids a second one."""
        record = await self.get(schedule_id)
        order = schedule_records.out_of_turn(record, await self._call(self._store.clock_ms), self._firing.make)
        (word,) = await self._call(self._store.fire, [order])
        _known(schedule_id, word)
        (fire,) = order.fires
        for line in await self.history(schedule_id):
            if line.scheduled_at == fire.scheduled_at:
                if line.what is Chronicle.SKIPPED and line.task != fire.task.task_id:  # otherwise the call was repeated
                    raise ScheduleBusyError(f"schedule {schedule_id} was not run: {line.detail} ({line.task})")
                break
        return fire.task.task_id

    async def history(self, schedule_id: str, limit: int = 20) -> tuple[Occurrence, ...]:
        """The latest runs of a schedule with their outcomes, newest first."""
        return await self._call(self._store.schedule_history, check_schedule_id(schedule_id), check_limit(limit))

    async def preview(self, schedule_id: str, count: int, after: int | None = None) -> tuple[int, ...]:
        """The moments of the next runs, in Unix milliseconds; `count` is at most 1000. `after`: only runs after this
        moment (Unix milliseconds). A pause of the schedule is not considered."""
        if type(count) is not int or not 0 <= count <= MOST_SHOWN:
            raise InvalidScheduleError(f"count {shown(count)}: a whole number from 0 to {MOST_SHOWN} is allowed")
        if after is not None:
            check_moment("after", after)
        record = await self.get(schedule_id)
        first = record.expected if after is None else expected_after(record.schedule, after)
        return tuple(islice(series(record.schedule, first), count))


def _check_mapping(specs: object) -> None:
    if not isinstance(specs, Mapping):
        raise InvalidScheduleError(f"specs {shown(specs)}: a dict from schedule ids to ScheduleSpecs is expected")


def _name(schedule_id: object) -> str:
    """The text by which error messages name a schedule."""
    return schedule_id if isinstance(schedule_id, str) and schedule_id.isprintable() else shown(schedule_id)


def _place(cursor: object) -> str:
    """Check the cursor of the previous page."""
    if isinstance(cursor, str) and (not cursor or (cursor.isascii() and cursor.isdigit() and len(cursor) <= _DIGITS)):
        return cursor
    raise InvalidScheduleError(
        f"cursor {shown(cursor)}: give the cursor of the previous page, or none for the first page"
    )


def _moment(until: object) -> int | None:
    """Unix milliseconds of a date, which must have a time zone."""
    if until is None:
        return None
    if not isinstance(until, datetime) or until.utcoffset() is None:
        raise InvalidScheduleError(f"until {shown(until)}: a date with its time zone is expected")
    return check_moment("until", round(until.timestamp() * 1000))


def _known(schedule_id: str, word: str) -> None:
    match word:
        case ScheduleAnswer.UNKNOWN | FireAnswer.GONE:
            raise UnknownScheduleError(f"no schedule {schedule_id}; `supervisor schedules list` shows all schedules")
        case ScheduleAnswer.CHANGED | FireAnswer.CHANGED | FireAnswer.STALE:
            raise ScheduleBusyError(f"schedule {schedule_id} was changed by another caller meanwhile; try again")
        case FireAnswer.NO_LIST:
            raise InvalidScheduleError(
                f"schedule {schedule_id}: the key of its lane is not a list; nothing was submitted"
            )
        case _:
            pass
