"""The pages of schedules: the list by next fire, the state and history of one schedule, and the form that sets one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.cadence import restored, words
from holdfast.core.schedule_records import ScheduleRecord
from holdfast.core.schedules import Overlap
from holdfast.errors import HoldfastError
from holdfastd.documents import printed_times
from holdfastd.operations.errors import status_of
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page
from holdfastd.web.views import schedule_form

PAGE = 100
FIRES = 50  # lines of the history that the page of a schedule shows
NEXT = 10  # coming fires that the page of a schedule shows
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


async def form(request: Request, typed: Mapping[str, str], error: HoldfastError | None = None) -> Response:
    """The form of a schedule with these texts in its fields. `error`: why the texts were refused."""
    return page(
        request,
        "schedule_form.html",
        status_of(error),
        typed=typed,
        problem=str(error or ""),
        ways=schedule_form.WAYS,
        overlaps=[str(each) for each in Overlap],
        misfires=MISFIRES,
        endings=ENDINGS,
    )


def _words(record: ScheduleRecord) -> str:
    return words(restored(record.definition.cadence))
