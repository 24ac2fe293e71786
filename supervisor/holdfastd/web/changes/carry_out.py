"""The endpoint of a change: reads the form, makes the change, writes down who asked, and leads back to a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.core.activity import Activity
from holdfast.errors import HoldfastError
from holdfastd.web.access.forms import read_form, visitor_of
from holdfastd.web.changes.change import Asked, PageChange
from holdfastd.web.queue.activity_notes import note, origin
from holdfastd.web.queue.queue_access import queue_of


def carry_out(change: PageChange) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of this change."""

    async def endpoint(request: Request) -> Response:
        fields = await read_form(request)
        access, subject = queue_of(request), fields.get(change.field, "")
        who, related = visitor_of(request).name, fields.get(change.related, "")
        activity = Activity(who, origin(request), change.path.removeprefix("/"), subject, related=related)
        try:
            await change.call(Asked(access, subject, fields, activity.who, activity.origin))
        except HoldfastError as error:
            await note(access, activity.refused(str(error)))
            if change.again is None:
                raise
            return await change.again(request, fields, error)
        await note(access, activity)
        return RedirectResponse(change.page_of(subject), 303)

    return endpoint
