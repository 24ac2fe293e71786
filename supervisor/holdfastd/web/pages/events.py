"""Events: the last ones, and new ones as they come."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfastd.web.pages.stream_position import stream_position
from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page

LAST = 100


async def events(request: Request) -> Response:
    access = queue_of(request)
    before = stream_position(request, "before")
    return page(request, "events.html", events=await access.store.events_before(before, LAST))
