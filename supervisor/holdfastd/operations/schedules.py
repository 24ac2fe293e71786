"""Acts on schedules."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.schedule_definition import ScheduleSpec, check_schedule_id
from holdfast.client.schedules import Schedules
from holdfast.client.task_spec import TaskSpec
from holdfast.core.cadence.moments import read_moment
from holdfast.errors import InvalidScheduleError, InvalidTaskError
from holdfastd.documents import printed_times
from holdfastd.operations.act import Act, Doing, Reason
from holdfastd.operations.submit_tasks import HandlerCalls, Unchecked, unpublished

ScheduleId = Annotated[str, Meta(description="Id of the schedule.")]
Owner = Annotated[str, Meta(description="Owner of the schedules. Schedules of other owners are not changed.")]
Time = Annotated[str, Meta(min_length=1, max_length=50, description="2030-01-31T12:00:00, or Unix seconds.")]


class ChosenSchedule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The schedule to which the act applies."""

    schedule_id: ScheduleId


class PauseSchedule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The schedule, a reason, and the time (UTC) at which the pause ends; null: somebody has to resume the schedule."""

    schedule_id: ScheduleId
    reason: Reason = ""
    until: Time | None = None


class SetSchedule(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The schedule, its times and its task. `after`: fires up to this time count as made; `is_new`: refuse if the
    schedule exists already."""

    schedule_id: ScheduleId
    spec: ScheduleSpec
    after: Time | None = None
    is_new: bool = False
    unchecked: Unchecked = False


class OwnedSchedules(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The schedules that an owner is to have, by their ids."""

    owner: Owner
    schedules: dict[str, ScheduleSpec]
    unchecked: Unchecked = False


class ScheduleWord(TypedDict):
    schedule: str
    word: str


class PutSchedule(ScheduleWord):
    """`word`: new, changed or same; `next`: the next fire."""

    next: printed_times.Moment | None


class ScheduleRun(TypedDict):
    schedule: str
    task_id: str


class ScheduleDifference(TypedDict):
    """The ids of the schedules to create, change and delete, and of those that are equal."""

    create: list[str]
    change: list[str]
    prune: list[str]
    same: list[str]


async def set_schedule(doing: Doing, given: SetSchedule) -> PutSchedule:
    """Create or change a schedule. An equal definition changes nothing, but restarts a schedule that has ended.

    The handler and its arguments must fit what live workers have published. Without a lane, the tasks get the lane of
    their handler.
    """
    name = check_schedule_id(given.schedule_id)
    if given.is_new and await doing.call(doing.store.schedule, name) is not None:
        raise InvalidScheduleError(f"schedule {name} exists already: edit it, or choose another id")
    after = None if given.after is None else read_moment(given.after, given.spec.timezone)
    calls = HandlerCalls.of(doing, unchecked=given.unchecked)
    spec = await _fitted(calls, name, given.spec)
    doing.asked.hint = await _hint(doing, calls)
    put = await doing.manager.schedules.put(name, spec, again=True, after=after)
    return {"schedule": name, "word": put.word, "next": printed_times.utc(put.expected)}


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


async def apply_schedules(doing: Doing, given: OwnedSchedules) -> ScheduleDifference:
    """Create, change and delete schedules so that the owner has exactly those of a file.

    All are checked before the first is written. Their handlers and arguments must fit what live workers have published.
    Tasks without a lane get the lane of their handler.
    """
    schedules, calls = doing.manager.schedules, HandlerCalls.of(doing, unchecked=given.unchecked)
    declared = await checked(schedules, calls, given)
    doing.asked.hint = await _hint(doing, calls)
    changes = await difference(schedules, declared)
    orders = [
        *(
            partial(schedules.put_all, {name: declared.schedules[name]})
            for name in (*changes["create"], *changes["change"])
        ),
        *(partial(schedules.remove, name) for name in changes["prune"]),
    ]
    for done, order in enumerate(orders, 1):
        await order()
        doing.step(done)
    return changes


async def checked(schedules: Schedules, calls: HandlerCalls, given: OwnedSchedules) -> OwnedSchedules:
    """The schedules, with the lanes of their handlers. Raises InvalidScheduleError for an invalid schedule, and for a
    task that a submission would refuse."""
    await schedules.check_all(given.schedules)
    specs = {name: await _fitted(calls, name, spec) for name, spec in given.schedules.items()}
    return msgspec.structs.replace(given, schedules=specs)


async def _fitted(calls: HandlerCalls, schedule_id: str, spec: ScheduleSpec) -> ScheduleSpec:
    """The spec as a submission of its task would have it: checked, and with the lane of the handler."""
    if (spec.schedule or "").strip().upper() == "STOP":
        return spec  # a STOP makes no tasks
    try:
        task = await calls.fitted(TaskSpec(name=spec.name, kwargs=spec.kwargs, lane=spec.lane))
    except InvalidTaskError as error:
        raise InvalidScheduleError(f"schedules.{schedule_id}: {error}") from None
    return msgspec.structs.replace(spec, lane=task.lane)


async def _hint(doing: Doing, calls: HandlerCalls) -> str:
    """The line about a handler that no live worker has published."""
    return "" if all(calls.found.values()) else await doing.call(unpublished, doing.store, calls)


async def difference(schedules: Schedules, declared: OwnedSchedules) -> ScheduleDifference:
    """The changes that give the owner exactly these schedules, which `checked` has made."""
    specs = declared.schedules
    names = {*specs, *await schedules.owned(declared.owner)}
    records = {each.definition.schedule_id: each.definition for each in await schedules.known(names)}
    same = [name for name in specs if name in records and _spelled(specs[name]) == records[name].spec]
    pruned = [
        name
        for name, found in records.items()
        if found.owner == declared.owner
        and not found.declared  # not declared by the code of an application that has the owner's name
        and name not in specs
    ]
    return {
        "create": [name for name in specs if name not in records],
        "change": [name for name in specs if name in records and name not in same],
        "prune": pruned,
        "same": same,
    }


def _spelled(spec: ScheduleSpec) -> str:
    return msgspec.json.encode(spec, order="sorted").decode()


SET_SCHEDULE = Act("schedules/set", SetSchedule, set_schedule, "schedule_id")
REMOVE_SCHEDULE = Act("schedules/remove", ChosenSchedule, remove_schedule, "schedule_id")
RUN_SCHEDULE = Act("schedules/run", ChosenSchedule, run_schedule, "schedule_id")
PAUSE_SCHEDULE = Act("schedules/pause", PauseSchedule, pause_schedule, "schedule_id")
RESUME_SCHEDULE = Act("schedules/resume", ChosenSchedule, resume_schedule, "schedule_id")
APPLY_SCHEDULES = Act("schedules/apply", OwnedSchedules, apply_schedules, "owner")
