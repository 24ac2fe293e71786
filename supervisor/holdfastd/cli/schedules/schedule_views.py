"""Schedules as the command line shows them: cells for tables, documents for JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from holdfast.core.cadence import restored, words
from holdfast.core.schedule_records import Occurrence, ScheduleRecord
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


def document(record: ScheduleRecord) -> dict[str, Any]:
    definition = record.definition
    return {
        "schedule": definition.schedule_id,
        "state": "paused" if record.paused else "ended" if record.ended else "active",
        "next": utc(record.expected),
        "due": utc(record.due),
        "words": words(restored(definition.cadence)),
        "timezone": definition.timezone,
        "generation": record.generation,
        "fires": record.fires,
        "failures": record.streak,
        "paused": record.paused or None,
        "until": utc(record.until),
        "ended": record.ended or None,
        "task": record.task or None,
        "owner": definition.owner or None,
        "declared": definition.declared,
        "created": utc(record.created),
        "updated": utc(record.updated),
        "spec": msgspec.json.decode(definition.spec),
    }


def occurrence(line: Occurrence) -> dict[str, Any]:
    return {
        "at": utc(line.at),
        "what": line.what,
        "scheduled_at": utc(line.scheduled_at),
        "task": line.task or None,
        "detail": line.detail,
    }
