"""Operations that report: events, statistics, handlers, present problems, and the changes of operators."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from holdfast.client.arguments import Duration, check_duration, check_id, check_name
from holdfast.client.queue_views import EventFilter
from holdfast.client.task_filter import OfLane
from holdfast.core.activity import Happening
from holdfast.core.published_handlers import PublishedHandler
from holdfast.core.rollup import MINUTE, PACKED_KEPT_MS
from holdfast.core.trail import EVENTS
from holdfast.errors import InvalidTaskError
from holdfastd.doctor.finding import Level
from holdfastd.documents.period_report import ComparedDocument, Report, ReportDocument
from holdfastd.documents.printed_times import Moment, moment
from holdfastd.documents.queue_documents import (
    ErrorKindDocument,
    EventDocument,
    error_kind_document,
    event_document,
)
from holdfastd.web.api.operation import ApiCall, ApiOperation, Limit

STEP, STEPS = 250, 8  # events of one read, and maximum number of reads for one page

Position = Annotated[
    str,
    Meta(
        pattern=r"^([0-9]{1,19}-[0-9]{1,19})?$",
        description="Only entries before this position: the cursor of an earlier page.",
    ),
]


class EventQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    task: Annotated[str | None, Meta(description="Only events of this task.")] = None
    kind: Annotated[list[str], Meta(description="Only events of these kinds.")] = []
    limit: Limit = 100
    cursor: Position = ""


class EventList(TypedDict):
    """Events, newest first. `cursor`: continues the list, empty on the last page. A page may hold fewer events than
    `limit`."""

    events: list[EventDocument]
    cursor: str


class HandlerQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    since: Annotated[Duration, Meta(description="Length of the period: 10m, 1h, 7d, at most 15d.")] = "1h"


class ErrorQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    since: Annotated[Duration, Meta(description="Only kinds whose last failure was at most this long ago.")] = "24h"
    handler: Annotated[str | None, Meta(description="Only kinds of this handler; '' for tasks that name none.")] = None
    limit: Limit = 100
    first: Annotated[int, Meta(ge=0, le=1_000_000, description="Number of kinds to leave out.")] = 0


class ErrorList(TypedDict):
    """Kinds of errors, the latest first. `count`: the number of kinds in the period."""

    errors: list[ErrorKindDocument]
    count: int


class StatsQuery(HandlerQuery, forbid_unknown_fields=True, frozen=True):
    handler: Annotated[str | None, Meta(description="Only tasks of this handler; '' for tasks that name none.")] = None
    lane: OfLane = None


class HandlerList(TypedDict):
    """The handlers that ran in the period, those with the most runs first. `published`: the handlers that workers have
    published, by their names, with JSON schemas of their arguments."""

    handlers: list[ComparedDocument]
    published: list[PublishedHandler]


class FindingDocument(TypedDict):
    """A finding of `supervisor doctor`: the check, its result, and the remedy or an empty text."""

    level: Level
    subject: str
    look: str
    found: str
    fix: str


class FindingList(TypedDict):
    findings: list[FindingDocument]


class ActivityQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    limit: Limit = 100
    cursor: Position = ""


class ActivityDocument(TypedDict):
    """A change: who asked for it, and from where. `outcome`: its reason, or the values before and after; if `refused`,
    why."""

    at: Moment | None
    position: str
    who: str
    origin: str
    change: str
    subject: str
    outcome: str
    refused: bool


class ActivityList(TypedDict):
    """Changes, newest first. `cursor`: continues the list, empty on the last page."""

    activity: list[ActivityDocument]
    cursor: str


async def list_events(call: ApiCall, query: EventQuery) -> EventList:
    """List events of tasks and workers, newest first. At least the last 100,000 are kept."""
    if unknown := [kind for kind in query.kind if kind not in EVENTS]:
        raise InvalidTaskError(f"kind {unknown[0][:50]!r}: one of {', '.join(EVENTS)} is expected"[:1000])
    wanted = EventFilter(None if query.task is None else check_id(query.task), frozenset(query.kind))
    found, position = list[Happening](), query.cursor
    for _ in range(STEPS):
        step = await call.store.events_before(position, STEP if query.task or query.kind else query.limit)
        for event in step:
            if len(found) >= query.limit and event.position != position:  # one entry may be an event of several tasks
                return _events(found, position)
            position = event.position
            if wanted.matches(event):
                found.append(event)
        if not step:
            return _events(found, "")
    return _events(found, position)


async def get_stats(call: ApiCall, query: StatsQuery) -> ReportDocument:
    """Show rates, failures, waiting times and run times of a period, beside those of the period before."""
    return (await _report(call, query.since, query.handler, query.lane)).document()


async def list_errors(call: ApiCall, query: ErrorQuery) -> ErrorList:
    """List the kinds of errors with which runs of tasks have failed, the latest first.

    A kind is a handler, a type, a place and a message without its variable parts. A handler has at most
    200 kinds, and the kind `other` for all further ones. Lists, counts and changes of tasks take a kind as the filter
    `error`.
    """
    handler = query.handler and check_name(query.handler)
    since_ms = max(0, await call.store.clock_ms() - round(check_duration("since", query.since) * 1000))
    count, found = await call.store.error_kinds(handler, since_ms, query.first, query.limit)
    return {"errors": [error_kind_document(each) for each in found], "count": count}


async def list_handlers(call: ApiCall, query: HandlerQuery) -> HandlerList:
    """List handlers with rate, failures, retries, crashes, waiting and run times of each.

    Also list the handlers that workers have published, with JSON schemas of their arguments."""
    report = await _report(call, query.since)
    shown = call.access.redaction.schema
    published = [replace(each, arguments=shown(each.arguments)) for each in await call.store.published_handlers()]
    return {"handlers": report.document()["handlers"], "published": published}


async def list_problems(call: ApiCall) -> FindingList:
    """List the checks of `supervisor doctor`: what is wrong with the queue and its store now, problems first."""
    return {
        "findings": [
            {"level": each.level, "subject": each.subject, "look": each.look, "found": each.found, "fix": each.fix}
            for each in await call.problems()
        ]
    }


async def list_activity(call: ApiCall, query: ActivityQuery) -> ActivityList:
    """List the changes that operators asked for by commands, pages, the API or the agent, newest first.

    Refused changes are listed, too. The last 10,000 changes are kept.
    """
    entries = await call.store.activity_before(query.cursor, query.limit)
    listed: list[ActivityDocument] = [
        {
            "at": moment(each.at_ms),
            "position": each.position,
            "who": each.who,
            "origin": each.origin,
            "change": each.change,
            "subject": each.subject,
            "outcome": each.outcome,
            "refused": each.is_refused,
        }
        for each in entries
    ]
    return {"activity": listed, "cursor": entries[-1].position if len(entries) == query.limit else ""}


async def _report(call: ApiCall, since: str, handler: str | None = None, lane: str | None = None) -> Report:
    length_ms = round(check_duration("since", since) * 1000)
    if not MINUTE <= length_ms <= PACKED_KEPT_MS // 2:
        raise InvalidTaskError(f"since {since!r}: from 1m to 15d is allowed")
    return await call.reports.fresh(length_ms, handler, lane)


def _events(found: list[Happening], cursor: str) -> EventList:
    return {"events": [event_document(each) for each in found], "cursor": cursor}


REPORTS: tuple[ApiOperation, ...] = (
    ApiOperation("GET", "/events", list_events),
    ApiOperation("GET", "/stats", get_stats),
    ApiOperation("GET", "/errors", list_errors),
    ApiOperation("GET", "/handlers", list_handlers),
    ApiOperation("GET", "/doctor", list_problems),
    ApiOperation("GET", "/activity", list_activity),
)
