"""The pages of schedules: the list in the order of their next moments, the state and history of one schedule, and the
form that sets one."""

from __future__ import annotations

import re
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
from holdfast.core.cadence.moments import At, Continue, Every, Stop
from holdfast.core.schedule_records import Occurrence, ScheduleRecord, is_out_of_turn
from holdfast.core.schedules import Overlap, series
from holdfast.core.trail import Chronicle
from holdfast.errors import HoldfastError, InvalidScheduleError
from holdfast.why.times import span
from holdfastd.documents import printed_times
from holdfastd.operations.error_statuses import status_of
from holdfastd.operations.reading import description_of
from holdfastd.operations.schedules import SET_SCHEDULE
from holdfastd.operations.submit_tasks import Unchecked
from holdfastd.web.access.forms import read_form
from holdfastd.web.pages.task_pages import handler_of
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
LATE = re.compile(r"(\d+) ms late")


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
        row=_row(record),
        spec=access.redaction.value(stored_spec(record)),
        following=[(printed_times.zoned(moment, zone), moment) for moment in moments],
        history=_results(record, await access.manager.schedules.history(schedule_id, 2 * FIRES)),
    )


async def new_schedule(request: Request) -> Response:
    """The form with a usual rule. `?name=` chooses the handler."""
    way, rule = schedule_form.PRESETS[schedule_form.USUAL]
    typed = {"timezone": "UTC", "name": request.query_params.get("name", ""), "way": way, "rule": rule}
    return await form(request, typed)


async def edit_schedule(request: Request) -> Response:
    access, schedule_id = queue_of(request), request.query_params.get("id", "")
    record = await access.manager.schedules.get(schedule_id)
    fields = schedule_form.fields_of(access.redaction.value(stored_spec(record)))
    return await form(request, fields | {"schedule_id": schedule_id, "known": "1"})


def stored_spec(record: ScheduleRecord) -> dict[str, Any]:
    spec: dict[str, Any] = msgspec.json.decode(record.definition.spec)
    return spec


async def fires(request: Request) -> Response:
    """The form as it was typed, with the fields of the typed handler and the next moments of the typed rule. Nothing
    is written to the store. `preset`: the title of a usual rule, which replaces the typed one."""
    typed = (await read_form(request)).allowed(SET_SCHEDULE)
    way, rule = schedule_form.PRESETS.get(typed.pop("preset", ""), ("", ""))
    return await form(request, {**typed, "way": way, "rule": rule} if rule else typed)


async def form(request: Request, typed: Mapping[str, str], error: HoldfastError | None = None) -> Response:
    """The form of a schedule with these texts in its fields. `error`: why the texts were refused."""
    access, name = queue_of(request), typed.get("name", "").strip()
    handler = await handler_of(access, name) if name else None
    return page(
        request,
        "schedule_form.html",
        status_of(error),
        typed=typed,
        problem=str(error or ""),
        handler=handler,
        arguments=schedule_form.argument_fields_of(handler, typed, error) if handler else None,
        presets=schedule_form.PRESETS,
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
    """A schedule in the words of the pages. `handler`, `text`: of its tasks. `words`: its rule, with the time zone.
    `zone`: the time zone, empty if the rule names no time of day. `anchor`: the moment from which an interval counts.
    `by_hand`: an operator asked for the run that ended last."""

    handler: str
    text: str
    words: str
    zone: str
    anchor: int | None
    by_hand: bool


def _row(record: ScheduleRecord) -> ScheduleRow:
    definition, spec, cadence = record.definition, stored_spec(record), restored(record.definition.cadence)
    zone, rule = definition.timezone, words(cadence, brief=True)
    anchor = cadence.anchor if isinstance(cadence, Every) else None
    if isinstance(cadence, Every | Continue | Stop | At):
        zone = ""
    by_hand = bool(record.last and is_out_of_turn(record, record.last.task))
    return ScheduleRow(str(spec.get("name", "")), str(spec.get("text", "")), rule, zone, anchor, by_hand)


class ScheduleResult(NamedTuple):
    """A fire of a schedule with its result, or another line of the history. `at`: the planned moment of the fire.
    `took`: the seconds from the fire to the end of its task."""

    at: int
    result: str
    task: str
    detail: str
    took: float | None = None


def _results(record: ScheduleRecord, lines: Sequence[Occurrence]) -> list[ScheduleResult]:
    """One row for each fire. `lines`: the history, newest first; in it a fire and the end of its task are two lines."""
    ends = {line.task: line for line in lines if line.what is Chronicle.ENDED}
    found = list[ScheduleResult]()
    for line in lines:
        planned = line.at if line.what is Chronicle.SET else line.scheduled_at or line.at
        if line.what is Chronicle.FIRED:
            end, detail = ends.pop(line.task, None), _detail(record, line)
            took = (end.at - line.at) / 1000 if end else None
            found.append(ScheduleResult(planned, end.detail if end else "open", line.task, detail, took))
        elif line.what is not Chronicle.ENDED:
            found.append(ScheduleResult(planned, str(line.what), line.task, line.detail))
    return found[:FIRES]


def _detail(record: ScheduleRecord, line: Occurrence) -> str:
    """The remark beside a fire: an operator asked for it, or it was late by a second or more. Otherwise empty."""
    if is_out_of_turn(record, line.task):
        return "by hand"
    late = LATE.fullmatch(line.detail)
    return line.detail if late is None else f"{span(int(late[1]))} late" if int(late[1]) >= 1000 else ""


@cache
def _zones() -> list[str]:
    """The time zones that the form offers: UTC and those that are named for places."""
    return ["UTC", *sorted(zone for zone in available_timezones() if zone.startswith(REGIONS))]
