"""The pages of schedules: the list in the order of their next moments, the state and history of one schedule, and the
form that sets one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import islice
from typing import Any, NamedTuple
from zoneinfo import available_timezones

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.schedule_definition import define
from holdfast.core.cadence import restored, words
from holdfast.core.schedule_records import Occurrence, ScheduleRecord
from holdfast.core.schedules import Overlap, series
from holdfast.core.trail import Chronicle
from holdfast.errors import HoldfastError, InvalidScheduleError
from holdfastd.documents import printed_times
from holdfastd.operations.error_statuses import status_of
from holdfastd.operations.reading import description_of
from holdfastd.operations.schedules import SET_SCHEDULE
from holdfastd.operations.submit_tasks import Unchecked
from holdfastd.web.access.forms import read_form
from holdfastd.web.queue.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views import schedule_form

PAGE = 100
FIRES = 50  # fires whose results the page of a schedule shows
NEXT = 5  # coming fires that the page of a schedule shows
TYPED = 5  # coming fires that the form shows while a rule is typed
TIMES = ("way", "rule", "timezone", "anchor", "start", "end", "limit", "jitter")  # the fields that decide on fires
REGIONS = ("Africa/", "America/", "Asia/", "Atlantic/", "Australia/", "Europe/", "Indian/", "Pacific/")
MISFIRES = ("latest", "skip", "all:10")
ENDINGS = ("continue", "stop")


async def schedules(request: Request) -> Response:
    access = queue_of(request)
    found = await access.manager.schedules.list(PAGE, request.query_params.get("cursor", ""))
    return page(
        request,
        "schedules.html",
        found=found,
        rows={each.definition.schedule_id: _row(each) for each in found.schedules},
    )


async def schedule(request: Request) -> Response:
    access, schedule_id = queue_of(request), request.query_params.get("id", "")
    record = await access.manager.schedules.get(schedule_id)
    zone = record.definition.timezone
    moments = await access.manager.schedules.preview(schedule_id, NEXT)
    return page(
        request,
        "schedule.html",
        schedule=record,
        words=words(restored(record.definition.cadence)),
        brief=_row(record).words,
        spec=access.redaction.value(stored_spec(record)),
        following=[(printed_times.zoned(moment, zone), moment) for moment in moments],
        history=_results(await access.manager.schedules.history(schedule_id, 2 * FIRES)),
    )


async def new_schedule(request: Request) -> Response:
    return await form(request, {"timezone": "UTC"})


async def edit_schedule(request: Request) -> Response:
    access, schedule_id = queue_of(request), request.query_params.get("id", "")
    record = await access.manager.schedules.get(schedule_id)
    fields = schedule_form.fields_of(access.redaction.value(stored_spec(record)))
    return await form(request, fields | {"schedule_id": schedule_id, "known": "1"})


def stored_spec(record: ScheduleRecord) -> dict[str, Any]:
    spec: dict[str, Any] = msgspec.json.decode(record.definition.spec)
    return spec


async def fires(request: Request) -> Response:
    """The form as it was typed, with the next moments of the typed rule. Nothing is written to the store."""
    return await form(request, (await read_form(request)).allowed(SET_SCHEDULE))


async def form(request: Request, typed: Mapping[str, str], error: HoldfastError | None = None) -> Response:
    """The form of a schedule with these texts in its fields. `error`: why the texts were refused."""
    access = queue_of(request)
    return page(
        request,
        "schedule_form.html",
        status_of(error),
        typed=typed,
        problem=str(error or ""),
        fires=_next_fires(access, typed, await access.store.clock_ms()),
        handlers=[each.name for each in await access.store.published_handlers()],
        zones=_zones(),
        ways=schedule_form.WAYS,
        overlaps=[str(each) for each in Overlap],
        misfires=MISFIRES,
        endings=ENDINGS,
        unchecked=description_of(Unchecked),
    )


class TypedFires(NamedTuple):
    """The next moments at which a typed rule would make tasks. `words`: the rule in words. `moments`: each as text by
    the clock of the rule's time zone, and in Unix milliseconds. `problem`: why the rule is refused."""

    words: str = ""
    moments: tuple[tuple[str, int], ...] = ()
    problem: str = ""


def _next_fires(access: QueueAccess, typed: Mapping[str, str], now_ms: int) -> TypedFires:
    """The next moments of the rule in a form. The task in the form is not checked."""
    if not typed.get("rule", "").strip():
        return TypedFires()
    times = {name: typed[name] for name in TIMES if name in typed}
    try:
        found = define("typed", schedule_form.spec_of({**times, "text": "-"}, {}, access.redaction), now_ms)
    except InvalidScheduleError as error:
        return TypedFires(problem=str(error))
    definition = found.definition
    moments = islice(series(definition.schedule(), found.expected), TYPED)
    zoned = tuple((printed_times.zoned(moment, definition.timezone), moment) for moment in moments)
    return TypedFires(words(restored(definition.cadence)), zoned)


class ScheduleRow(NamedTuple):
    """A schedule in the list: its handler or the text of its tasks, and its rule in words, with the time zone."""

    handler: str
    words: str


def _row(record: ScheduleRecord) -> ScheduleRow:
    definition, spec = record.definition, stored_spec(record)
    rule = words(restored(definition.cadence), brief=True)
    zone = "" if definition.timezone == "UTC" or definition.timezone in rule else f", {definition.timezone}"
    return ScheduleRow(str(spec.get("name", "")), rule.removesuffix(", UTC") + zone)


class ScheduleResult(NamedTuple):
    """A fire of a schedule with its result, or another line of the history. `at`: the planned moment of the fire.
    `took`: the seconds from the fire to the end of its task."""

    at: int
    result: str
    task: str
    detail: str
    took: float | None = None


def _results(lines: Sequence[Occurrence]) -> list[ScheduleResult]:
    """One row for each fire. `lines`: the history, newest first; in it a fire and the end of its task are two lines."""
    ends = {line.task: line for line in lines if line.what is Chronicle.ENDED}
    found = list[ScheduleResult]()
    for line in lines:
        planned = line.at if line.what is Chronicle.SET else line.scheduled_at or line.at
        if line.what is Chronicle.FIRED and (end := ends.pop(line.task, None)):
            found.append(ScheduleResult(planned, end.detail, line.task, line.detail, (end.at - line.at) / 1000))
        elif line.what is Chronicle.FIRED:
            found.append(ScheduleResult(planned, "open", line.task, line.detail))
        elif line.what is not Chronicle.ENDED:
            found.append(ScheduleResult(planned, str(line.what), line.task, line.detail))
    return found[:FIRES]


@cache
def _zones() -> list[str]:
    """The time zones that the form offers: UTC and those that are named for places."""
    return ["UTC", *sorted(zone for zone in available_timezones() if zone.startswith(REGIONS))]
