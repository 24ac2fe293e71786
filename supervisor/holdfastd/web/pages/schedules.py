"""Schedules: the next fires, the state, and the history of one."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page

PAGE = 100
FIRES = 30  # of the history of one


async def schedules(request: Request) -> Response:
    access = queue_of(request)
    found = await access.store.schedules(PAGE, request.query_params.get("cursor", ""))
    return page(request, "schedules.html", found=found, now_ms=await access.store.clock_ms())


async def schedule(request: Request) -> Response:
    access = queue_of(request)
    schedule_id = request.query_params.get("id", "")
    record = await access.store.schedule(schedule_id)
    if record is None:
        return page(request, "problem.html", 404, title="No such schedule", problem=f"no schedule {schedule_id}")
    history = await access.store.schedule_history(schedule_id, FIRES)
    return page(request, "schedule.html", schedule=record, history=history)
