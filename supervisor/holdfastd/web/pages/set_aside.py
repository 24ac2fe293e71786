"""Dead letters and unreadable entries: what failed for good, and what was no task."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page

PAGE = 50


async def dead(request: Request) -> Response:
    access = queue_of(request)
    found = await access.store.dead_letters(PAGE, request.query_params.get("cursor", ""))
    return page(request, "dead.html", found=found)


async def unreadable(request: Request) -> Response:
    access = queue_of(request)
    return page(request, "unreadable.html", entries=await access.store.unreadable(PAGE))
