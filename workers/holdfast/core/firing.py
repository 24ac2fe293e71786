"""From a schedule as it was found to what is to be done about it: the order that the store carries out or refuses."""

from __future__ import annotations

from collections.abc import Callable

from holdfast.core.cadence.moments import local
from holdfast.core.definitions import Fire, FireOrder, ScheduleRecord
from holdfast.core.records import Submission
from holdfast.core.schedules import due, plan

MakeTask = Callable[[ScheduleRecord, str], Submission]


def fire_id(schedule_id: str, scheduled_at: int) -> str:
    """The id of the task of a fire: the same for the same fire, whoever makes it."""
    moment = local(scheduled_at, "UTC")
    fraction = f".{scheduled_at % 1000:03}" if scheduled_at % 1000 else ""
    return f"{schedule_id.replace(':', '@')}@{moment:%Y%m%dT%H%M%S}{fraction}Z"


def order(record: ScheduleRecord, now: int, make: MakeTask) -> FireOrder | None:
    """What is due at `now`; None where nothing is."""
    if record.paused:
        return None
    if record.pending is not None and record.released:
        return _waited(record, record.pending, make)
    decided = plan(record.schedule, now)
    if not decided.fires and decided.missed is None:
        return None
    expected = decided.expected
    return FireOrder(
        record.definition.schedule_id,
        record.generation,
        record.expected,
        "due",
        tuple(_fire(record, moment, make) for moment in decided.fires),
        expected,
        None if expected is None else due(record.schedule, expected),
        decided.missed,
        decided.why,
    )


def out_of_turn(record: ScheduleRecord, now: int, make: MakeTask) -> FireOrder:
    """One fire out of turn, as asked for by an operator; what is expected stays so."""
    fires = (_fire(record, now, make),)
    return FireOrder(record.definition.schedule_id, record.generation, record.expected, "extra", fires)


def _waited(record: ScheduleRecord, scheduled_at: int, make: MakeTask) -> FireOrder:
    fires = (_fire(record, scheduled_at, make),)
    return FireOrder(record.definition.schedule_id, record.generation, scheduled_at, "waited", fires)


def _fire(record: ScheduleRecord, scheduled_at: int, make: MakeTask) -> Fire:
    return Fire(scheduled_at, make(record, fire_id(record.definition.schedule_id, scheduled_at)))
