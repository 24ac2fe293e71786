"""Acts on schedules."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.schedule_definition import ScheduleSpec, check_schedule_id
from holdfast.core.cadence.moments import read_moment
from holdfast.errors import InvalidScheduleError
from holdfastd.documents import times
from holdfastd.operations.act import Act, Doing, Reason

ScheduleId = Annotated[str, Meta(description="Id of the schedule.")]
Time = Annotated[str, Meta(min_length=1, max_length=50, description="2030-01-31T12:00:00, or Unix seconds.")]


class ChosenSchedule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The schedule."""

    schedule_id: ScheduleId


class PauseSchedule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A reason, and the time (UTC) at which the schedule is resumed; null: when it is resumed."""

    schedule_id: ScheduleId
    reason: Reason = ""
    until: Time | None = None


class SetSchedule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The schedule, its times and its task. `after`: fires up to this time count as made; `is_new`: a schedule that
    exists is refused."""

    schedule_id: ScheduleId
    spec: ScheduleSpec
    after: Time | None = None
    is_new: bool = False


class PutSchedule(TypedDict):
    """`word`: new, changed or same; `next`: the next fire."""

    schedule: str
    word: str
    next: times.Moment | None


class ScheduleWord(TypedDict):
    schedule: str
    word: str


class ScheduleRun(TypedDict):
    schedule: str
    task_id: str


async def set_schedule(doing: Doing, given: SetSchedule) -> PutSchedule:
    """Set or change a schedule. The same again changes nothing, but restarts a schedule that has ended."""
    name = check_schedule_id(given.schedule_id)
    if given.is_new and await doing.call(doing.store.schedule, name) is not None:
        raise InvalidScheduleError(f"schedule {name} exists already: edit it, or choose another id")
    after = None if given.after is None else read_moment(given.after, given.spec.timezone)
    put = await doing.manager.schedules.put(name, given.spec, again=True, after=after)
    return {"schedule": name, "word": put.word, "next": times.utc(put.expected)}


async def remove_schedule(doing: Doing, given: ChosenSchedule) -> ScheduleWord:
    """Remove a schedule and its history. A running task continues."""
    await doing.manager.schedules.remove(given.schedule_id)
    return {"schedule": given.schedule_id, "word": "removed"}


async def run_schedule(doing: Doing, given: ChosenSchedule) -> ScheduleRun:
    """Make one extra fire now; the answer is the id of its task."""
    return {"schedule": given.schedule_id, "task_id": await doing.manager.schedules.run(given.schedule_id)}


async def pause_schedule(doing: Doing, given: PauseSchedule) -> ScheduleWord:
    """Stop the fires of a schedule until it is resumed. A running task continues."""
    until = None if given.until is None else datetime.fromtimestamp(read_moment(given.until, "UTC") / 1000, UTC)
    await doing.manager.schedules.pause(given.schedule_id, doing.reason("paused", given.reason), until)
    return {"schedule": given.schedule_id, "word": "paused"}


async def resume_schedule(doing: Doing, given: ChosenSchedule) -> ScheduleWord:
    """Resume a paused schedule. Fires that it missed are not made up."""
    await doing.manager.schedules.resume(given.schedule_id)
    return {"schedule": given.schedule_id, "word": "resumed"}


SET_SCHEDULE = Act("schedules/set", SetSchedule, set_schedule, "schedule_id")
REMOVE_SCHEDULE = Act("schedules/remove", ChosenSchedule, remove_schedule, "schedule_id")
RUN_SCHEDULE = Act("schedules/run", ChosenSchedule, run_schedule, "schedule_id")
PAUSE_SCHEDULE = Act("schedules/pause", PauseSchedule, pause_schedule, "schedule_id")
RESUME_SCHEDULE = Act("schedules/resume", ChosenSchedule, resume_schedule, "schedule_id")
