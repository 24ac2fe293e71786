"""Schedules as the command line shows them: cells of tables."""

from __future__ import annotations

from holdfast.core.cadence import restored, words
from holdfast.core.schedule_records import ScheduleRecord
from holdfastd.cli.common.table_fit import TableFit
from holdfastd.documents.times import utc

FIT = TableFit(texts=("cadence", "owner"), drop=("failures", "owner", "fires", "cadence"))
COLUMNS = ("schedule", "next (UTC)", "state", "fires", "failures", "owner", "cadence")


def cells(record: ScheduleRecord) -> tuple[object, ...]:
    definition = record.definition
    return (
        definition.schedule_id,
        utc(record.expected) or "-",
        state(record),
        record.fires,
        record.streak,
        definition.owner or "-",
        words(restored(definition.cadence)),
    )


def state(record: ScheduleRecord) -> str:
    if record.paused:
        return f"paused: {record.paused}"
    return f"ended: {record.ended}" if record.ended else "active"
