"""Batches: the latest first, and one with its tasks."""

from __future__ import annotations

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from holdfast.core.batches import TaskEnd
from holdfastd.web.http.addresses import list_place
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page

PAGE = 50
TASKS = 200  # of a batch that are read for one page
ENDS = tuple(str(end) for end in TaskEnd if end is not TaskEnd.RETRIED)


async def batches(request: Request) -> Response:
    found = await queue_of(request).manager.batches(PAGE, request.query_params.get("cursor", ""))
    return page(request, "batches.html", found=found)


async def batch(request: Request) -> Response:
    access, query = queue_of(request), request.query_params
    after, wanted = list_place(request), query.get("end", "")
    if wanted and wanted not in ENDS:
        raise HTTPException(400, f"end {wanted[:50]!r}: one of {', '.join(ENDS)} is expected")
    one = access.manager.batch(query.get("id", ""))
    record = await one.record()
    tasks, more = await access.store.batch_tasks(one.id, after, TASKS)
    return page(
        request,
        "batch.html",
        batch=record,
        ends=ENDS,
        wanted=wanted,
        tasks=[task for task in tasks if wanted in ("", task.end)],
        after=after,
        following=after + TASKS if more else None,
    )
