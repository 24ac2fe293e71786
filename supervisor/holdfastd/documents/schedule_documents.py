"""Schedules and their histories as documents."""

from __future__ import annotations

from typing import Literal, TypedDict

import msgspec

from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.core.cadence import restored, words
from holdfast.core.schedule_records import Occurrence, ScheduleRecord
from holdfastd.documents.times import Moment, utc


class ScheduleDocument(TypedDict):
    """A schedule. `failures`: the tasks in a row that failed; `task`: the last one; `spec`: as it was set, without the
    fields that have their defaults."""

    schedule: str
    state: Literal["active", "paused", "ended"]
    next: Moment | None
    due: Moment | None
    words: str
    timezone: str
    generation: int
    fires: int
    failures: int
    paused: str | None
    until: Moment | None
    ended: str | None
    task: str | None
    owner: str | None
    declared: bool
    created: Moment | None
    updated: Moment | None
    spec: ScheduleSpec


class OccurrenceDocument(TypedDict):
    """A line of a schedule's history."""

    at: Moment | None
    what: str
    scheduled_at: Moment | None
    task: str | None
    detail: str


def schedule_document(record: ScheduleRecord) -> ScheduleDocument:
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


def occurrence_document(line: Occurrence) -> OccurrenceDocument:
    return {
        "at": utc(line.at),
        "what": line.what,
        "scheduled_at": utc(line.scheduled_at),
        "task": line.task or None,
        "detail": line.detail,
    }
