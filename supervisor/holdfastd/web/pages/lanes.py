"""Lanes: what waits in each, who serves it, its limits; pause and resume."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page


async def lanes(request: Request) -> Response:
    access = queue_of(request)
    found = await access.manager.lanes()
    return page(request, "lanes.html", lanes=found.lanes, now_ms=found.now_ms, handlers=found.handlers)
