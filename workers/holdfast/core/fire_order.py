"""Decides the order for a schedule as it was found; the store carries the order out or refuses it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from holdfast.core.cadence.moments import local
from holdfast.core.identity import sha1_hex
from holdfast.core.schedule_records import Fire, FireOrder, ScheduleRecord
from holdfast.core.schedules import ON_TIME, Schedule, due, plan
from holdfast.core.tasks import Submission

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,90}")  # leaves room for a moment, and for the numbers of retries

MakeTask = Callable[[ScheduleRecord, str], Submission]


def may_be_fire(task_id: str) -> bool:
    """False if this is no task of a schedule, for certain."""
    return "@" in task_id


def fire_id(schedule_id: str, scheduled_at: int) -> str:
    """The id of the task of a fire: the same for the same fire, and of no other.

    A schedule's id that has other characters than a task id, or `@`, or is too long, is replaced by its digest. Such a
    name begins with `@`, and before the moment of any other there is no `@`: so no two schedules have one name.
    """
    name = schedule_id if _PLAIN.fullmatch(schedule_id) else f"@{sha1_hex(schedule_id.encode())}"
    fraction = f".{scheduled_at % 1000:03}" if scheduled_at % 1000 else ""
    return f"{name}@{local(scheduled_at, 'UTC'):%Y%m%dT%H%M%S}{fraction}Z"


def order(record: ScheduleRecord, now: int, make: MakeTask) -> FireOrder | None:
    """The order that is due at `now`; None if none is."""
    if record.paused:
        return None
    if record.pending is not None and record.released:
        return _order(record, record.pending, "waited", (_fire(record, record.pending, make),), now)
    decided = plan(record.schedule, now)
    if not decided.fires and decided.missed is None:
        return None
    fires = tuple(_fire(record, moment, make) for moment in decided.fires)
    return replace(
        _order(record, record.expected, "due", fires, now, _in_time(record.schedule, decided.fires, now)),
        following=decided.expected,
        due=None if decided.expected is None else due(record.schedule, decided.expected),
        missed=decided.missed,
        why=decided.why,
    )


def out_of_turn(record: ScheduleRecord, now: int, make: MakeTask) -> FireOrder:
    """One extra fire, as an operator asked for it; the expected moment stays."""
    return _order(record, record.expected, "extra", (_fire(record, now, make),), now)


def _order(
    record: ScheduleRecord, seen: int | None, kind: str, fires: tuple[Fire, ...], now: int, within: int = ON_TIME
) -> FireOrder:
    return FireOrder(record.definition.schedule_id, record.generation, seen, kind, now, now + within, fires)


def _in_time(schedule: Schedule, moments: tuple[int, ...], now: int) -> int:
    """Milliseconds after `now` for which the same would be decided about these fires."""
    deadline = schedule.policy.deadline
    if deadline is None or not moments:
        return ON_TIME
    return min(ON_TIME, *(due(schedule, moment) + deadline - now for moment in moments))


def _fire(record: ScheduleRecord, scheduled_at: int, make: MakeTask) -> Fire:
    return Fire(scheduled_at, make(record, fire_id(record.definition.schedule_id, scheduled_at)))
