"""The pages of schedules: the list in the order of their next moments, the state and history of one schedule, and the
form that sets one."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any, NamedTuple

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.schedule_definition import define
from holdfast.core.cadence import restored, words
from holdfast.core.schedule_records import ScheduleRecord
from holdfast.core.schedules import Overlap, series
from holdfast.errors import HoldfastError, InvalidScheduleError
from holdfastd.documents import printed_times
from holdfastd.operations.errors import status_of
from holdfastd.operations.schedules import SET_SCHEDULE
from holdfastd.web.access.forms import read_form
from holdfastd.web.queue.queue_access import QueueAccess, queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views import schedule_form

PAGE = 100
FIRES = 50  # lines of the history that the page of a schedule shows
NEXT = 10  # coming fires that the page of a schedule shows
TYPED = 5  # coming fires that the form shows while a rule is typed
TIMES = ("way", "rule", "timezone", "anchor", "start", "end", "limit", "jitter")  # the fields that decide on fires
ZONES = ("UTC", "Europe/Berlin", "Europe/London", "America/New_York", "America/Los_Angeles", "Asia/Tokyo")
MISFIRES = ("latest", "skip", "all:10")
ENDINGS = ("continue", "stop")


async def schedules(request: Request) -> Response:
    access = queue_of(request)
    found = await access.manager.schedules.list(PAGE, request.query_params.get("cursor", ""))
    return page(
        request,
        "schedules.html",
        found=found,
        words={each.definition.schedule_id: _words(each) for each in found.schedules},
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
        words=_words(record),
        spec=access.redaction.value(stored_spec(record)),
        following=[(printed_times.zoned(moment, zone), moment) for moment in moments],
        history=await access.manager.schedules.history(schedule_id, FIRES),
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
        zones=ZONES,
        ways=schedule_form.WAYS,
        overlaps=[str(each) for each in Overlap],
        misfires=MISFIRES,
        endings=ENDINGS,
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


def _words(record: ScheduleRecord) -> str:
    return words(restored(record.definition.cadence))
