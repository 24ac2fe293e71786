"""Operations on schedules."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.schedule_definition import ScheduleSpec
from holdfast.core.cadence import restored, words
from holdfast.core.cadence.moments import read_moment
from holdfastd.documents import printed_times
from holdfastd.documents.queue_documents import (
    OccurrenceDocument,
    ScheduleDocument,
    occurrence_document,
    schedule_document,
)
from holdfastd.operations.act import Face
from holdfastd.operations.schedules import (
    PAUSE_SCHEDULE,
    REMOVE_SCHEDULE,
    RESUME_SCHEDULE,
    RUN_SCHEDULE,
    SET_SCHEDULE,
    PutSchedule,
    SetSchedule,
    Time,
)
from holdfastd.web.access.forms import doing
from holdfastd.web.api.act_route import route
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.api.types import Limit, PageQuery


class ScheduleList(TypedDict):
    """A page of schedules, the next to fire first. `unreadable`: reasons by id; `cursor`: empty at the end."""

    schedules: list[ScheduleDocument]
    unreadable: dict[str, str]
    cursor: str


class HistoryQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    limit: Limit = 100


class ScheduleHistory(TypedDict):
    """The fires and their outcomes, newest first."""

    history: list[OccurrenceDocument]


class NextQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    count: Annotated[int, Meta(ge=1, le=1000, description="Number of fires.")] = 5
    after: Annotated[Time | None, Meta(description="Only fires after this time. Default: now.")] = None


class FireTime(TypedDict):
    """A moment in the schedule's time zone and in UTC."""

    local: str
    utc: printed_times.Moment | None


class NextFires(TypedDict):
    words: str
    timezone: str
    next: list[FireTime]


async def list_schedules(call: ApiCall, query: PageQuery) -> ScheduleList:
    """List schedules in the order of their next fires."""
    page = await call.manager.schedules.list(query.limit, query.cursor)
    return {
        "schedules": [schedule_document(each) for each in page.schedules],
        "unreadable": {each.schedule_id: each.why for each in page.spoilt},
        "cursor": page.cursor,
    }


async def get_schedule(call: ApiCall, schedule_id: str) -> ScheduleDocument:
    """Show a schedule in full."""
    return schedule_document(await call.manager.schedules.get(schedule_id))


async def put_schedule(call: ApiCall, schedule_id: str, body: ScheduleSpec) -> PutSchedule:
    """Set or change a schedule. The same again changes nothing, but restarts a schedule that has ended."""
    answer = await SET_SCHEDULE.carry_out(doing(call.access, call.asked, Face.API), SetSchedule(schedule_id, body))
    call.status = 201 if answer["word"] == "new" else 200
    return answer


async def schedule_history(call: ApiCall, schedule_id: str, query: HistoryQuery) -> ScheduleHistory:
    """Show the history of a schedule's fires, newest first. The last hundred lines are kept."""
    lines = await call.manager.schedules.history(schedule_id, query.limit)
    if not lines:  # every known schedule has at least a line: that it was set
        await call.manager.schedules.get(schedule_id)
    return {"history": [occurrence_document(line) for line in lines]}


async def next_fires(call: ApiCall, schedule_id: str, query: NextQuery) -> NextFires:
    """Show the next fires of a schedule, in its time zone and in UTC."""
    schedules = call.manager.schedules
    definition = (await schedules.get(schedule_id)).definition
    after = None if query.after is None else read_moment(query.after, definition.timezone)
    moments = await schedules.preview(schedule_id, query.count, after)
    return {
        "words": words(restored(definition.cadence)),
        "timezone": definition.timezone,
        "next": [
            {"local": printed_times.zoned(each, definition.timezone), "utc": printed_times.utc(each)}
            for each in moments
        ],
    }


EXAMPLES = {
    "nightly": {"cron": "0 2 * * *", "timezone": "Europe/Berlin", "name": "billing.close_day"},
    "interval": {"every": "5m", "text": "sweep", "overlap": "queue-one"},
}
SCHEDULES = (
    ApiOperation("GET", "/schedules", list_schedules),
    ApiOperation("GET", "/schedules/{schedule_id}", get_schedule),
    ApiOperation("PUT", "/schedules/{schedule_id}", put_schedule, SET_SCHEDULE, (200, 201), EXAMPLES),
    route("DELETE", "/schedules/{schedule_id}", REMOVE_SCHEDULE),
    route("POST", "/schedules/{schedule_id}/run", RUN_SCHEDULE),
    route("POST", "/schedules/{schedule_id}/pause", PAUSE_SCHEDULE),
    route("POST", "/schedules/{schedule_id}/resume", RESUME_SCHEDULE),
    ApiOperation("GET", "/schedules/{schedule_id}/history", schedule_history),
    ApiOperation("GET", "/schedules/{schedule_id}/next", next_fires),
)
