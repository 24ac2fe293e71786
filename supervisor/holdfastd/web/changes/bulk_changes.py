"""The endpoints that begin, stop and go on with a bulk change; each is written down."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.core.activity import Activity
from holdfast.errors import HoldfastError
from holdfastd.web.access.forms import read_form, visitor_of
from holdfastd.web.pages.bulk import change_of
from holdfastd.web.queue.activity_notes import note, origin
from holdfastd.web.queue.bulk_work import bulk_work_of
from holdfastd.web.queue.queue_access import queue_of


async def begin(request: Request) -> Response:
    """Begin the change that was confirmed."""
    change = change_of(request, await read_form(request))

    async def begin_it() -> str:
        await bulk_work_of(request).begin(change)
        return change.begun_words(queue_of(request).redaction.query)

    return await _noted(request, str(change.verb), change.change_id, begin_it)


async def stop(request: Request) -> Response:
    change_id = (await read_form(request)).get("change_id", "")

    async def stop_it() -> str:
        await bulk_work_of(request).stop(change_id)
        return ""

    return await _noted(request, "stop", change_id, stop_it)


async def go_on(request: Request) -> Response:
    change_id = (await read_form(request)).get("change_id", "")

    async def resume_it() -> str:
        await bulk_work_of(request).go_on(change_id)
        return ""

    return await _noted(request, "go-on", change_id, resume_it)


async def _noted(request: Request, what: str, change_id: str, call: Callable[[], Awaitable[str]]) -> Response:
    """Write down what came of it."""
    access = queue_of(request)
    activity = Activity(visitor_of(request).name, origin(request), f"bulk/{what}", change_id)
    try:
        outcome = await call()
    except HoldfastError as error:
        await note(access, activity.refused(str(error)))
        raise
    await note(access, replace(activity, outcome=outcome))
    return RedirectResponse("/bulk", 303)
