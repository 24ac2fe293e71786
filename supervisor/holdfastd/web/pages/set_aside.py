"""Dead letters and unreadable entries: tasks that failed for good, and entries that were no tasks."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfastd.operations.unreadable import missing
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.rendering import page

PAGE = 50


async def dead(request: Request) -> Response:
    access = queue_of(request)
    found = await access.store.dead_letters(PAGE, request.query_params.get("cursor", ""))
    errors = {task.task_id: _error_of(access.redaction.text(task.reason)) for task in found.tasks}
    return page(request, "dead.html", found=found, errors=errors)


async def unreadable(request: Request) -> Response:
    access = queue_of(request)
    counts = await access.store.counts()
    return page(request, "unreadable.html", entries=await access.store.unreadable(PAGE), all=counts.unreadable)


async def entry(request: Request) -> Response:
    access, address = queue_of(request), request.query_params.get("address", "")
    found = await access.store.unreadable_at(address)
    if found is None:
        raise missing(address)
    return page(request, "entry.html", entry=found)


def _error_of(reason: str) -> tuple[str, str]:
    """The type of the exception that a reason begins with, empty for a reason that names none; the rest of it."""
    name, colon, rest = reason.partition(":")
    return (name, rest.strip()) if colon and name.replace(".", "").isidentifier() else ("", reason)
