"""The endpoint of a change: reads the form, makes the change, writes down who asked, and leads back to a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import replace

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.core.activity import Activity
from holdfast.errors import HoldfastError, StoreError
from holdfastd.web.changes.change import Asked, Change
from holdfastd.web.forms import read_form, visitor_of
from holdfastd.web.queue_access import QueueAccess, queue_of

MOST = 500  # characters of a text that is kept


def carry_out(change: Change) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of this change."""

    async def endpoint(request: Request) -> Response:
        fields = await read_form(request)
        access, subject = queue_of(request), fields.get(change.field, "")
        activity = Activity(visitor_of(request).name, origin(request), change.path.removeprefix("/"), subject)
        by = f"by {activity.who} on the web, from {activity.origin}"
        try:
            await change.call(Asked(access, subject, fields, by))
        except HoldfastError as error:
            await _note(access, replace(activity, outcome=str(error)))
            if change.again is None:
                raise
            return await change.again(request, fields, error)
        await _note(access, activity)
        return RedirectResponse(change.page_of(subject), 303)

    return endpoint


def origin(request: Request) -> str:
    """The address that a request comes from."""
    return request.client.host if request.client else "a local socket"


async def _note(access: QueueAccess, activity: Activity) -> None:
    """A change counts although the note of it fails: it was made, or refused, before."""
    bounded = replace(activity, subject=activity.subject[:MOST], outcome=activity.outcome[:MOST])
    with suppress(StoreError):
        await access.store.note_activity(bounded)
