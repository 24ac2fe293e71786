"""The endpoints that begin, stop and go on with a bulk change; each is written down."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfastd.web.access.asked_change import noted
from holdfastd.web.access.forms import read_form
from holdfastd.web.pages.bulk import change_of
from holdfastd.web.queue.bulk_work import bulk_work_of
from holdfastd.web.queue.queue_access import queue_of


async def begin(request: Request) -> Response:
    """Begin the change that was confirmed."""
    async with noted(request, "bulk/begin") as asked:
        form = await read_form(request)
        asked.change = f"bulk/{form.last('verb')}"
        change = change_of(request, form.allowed())
        asked.subject = change.change_id
        await bulk_work_of(request).begin(change)
        asked.outcome = change.begun_words(queue_of(request).redaction.query)
    return RedirectResponse("/bulk", 303)


async def stop(request: Request) -> Response:
    return await _of_one(request, "bulk/stop", bulk_work_of(request).stop)


async def go_on(request: Request) -> Response:
    return await _of_one(request, "bulk/go-on", bulk_work_of(request).go_on)


async def _of_one(request: Request, what: str, call: Callable[[str], Awaitable[object]]) -> Response:
    async with noted(request, what) as asked:
        form = await read_form(request)
        asked.subject = form.last("change_id")
        form.allowed()
        await call(asked.subject)
    return RedirectResponse("/bulk", 303)
