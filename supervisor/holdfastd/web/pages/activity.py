"""Activity: the changes that were made on the dashboard, by whom, and from where."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfastd.web.pages.stream_position import stream_position
from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page

LAST = 100


async def activity(request: Request) -> Response:
    access = queue_of(request)
    entries = await access.store.activity_before(stream_position(request, "before"), LAST)
    return page(request, "activity.html", entries=entries)
