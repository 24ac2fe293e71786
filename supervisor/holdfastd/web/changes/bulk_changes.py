"""The endpoints that begin, stop and go on with a bulk change; each is written down."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import cast

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.client.bulk_filter import asked_change, checked_verb
from holdfast.client.wanted_tasks import WantedTasks
from holdfast.core.activity import Activity
from holdfast.core.bulk_changes import BulkChange
from holdfast.errors import HoldfastError
from holdfastd.web.activity_notes import note, origin
from holdfastd.web.bulk_work import bulk_work_of
from holdfastd.web.forms import read_form, visitor_of
from holdfastd.web.pages.task_filter import TaskFilter
from holdfastd.web.queue_access import queue_of


def change_of(request: Request, fields: Mapping[str, str]) -> BulkChange:
    """The change that these fields ask for. Raises HTTPException 400, InvalidTaskError."""
    wanted = TaskFilter.of(fields)
    verb, asked = checked_verb(fields.get("verb", "")), wanted.arguments
    states = [state] if (state := asked.pop("state")) else []
    who = visitor_of(request).name
    return asked_change(verb, states, cast("WantedTasks", asked), wanted.text, who=who, origin=origin(request))


async def begin(request: Request) -> Response:
    """Begin the change that was confirmed."""
    change = change_of(request, await read_form(request))

    async def begin_it() -> str:
        await bulk_work_of(request).begin(change)
        return change.begun_words

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
    access, who = queue_of(request), visitor_of(request).name
    try:
        outcome = await call()
    except HoldfastError as error:
        await note(access, Activity(who, origin(request), f"bulk/{what}", change_id, str(error)))
        raise
    await note(access, Activity(who, origin(request), f"bulk/{what}", change_id, outcome))
    return RedirectResponse("/bulk", 303)
