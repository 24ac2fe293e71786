"""The endpoint of a change: reads the form, makes the change, has it written down, and leads back to a page."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from holdfast.errors import HoldfastError
from holdfastd.web.access.forms import noted, read_form
from holdfastd.web.changes.change import Asked, PageChange
from holdfastd.web.queue.bulk_work import bulk_work_of
from holdfastd.web.queue.queue_access import queue_of


def carry_out(change: PageChange) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint of this change."""

    async def endpoint(request: Request) -> Response:
        fields = dict[str, str]()
        try:
            async with noted(request, change.path.removeprefix("/")) as asked:
                form = await read_form(request)
                asked.subject, asked.related = form.last(change.field), form.last(change.related)
                fields = form.allowed()
                await change.call(Asked(queue_of(request), asked.subject, fields, asked, bulk_work_of(request).start))
        except HoldfastError as error:
            if change.again is None:
                raise
            return await change.again(request, fields, error)
        return RedirectResponse(change.page_of(asked.subject), 303)

    return endpoint
