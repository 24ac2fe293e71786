"""Bulk changes: the page that asks for a confirmation with the number of tasks, and the list of those begun."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.counted_tasks import CountedTasks
from holdfastd.web.changes.bulk_changes import change_of
from holdfastd.web.forms import check_may_change, visitor_of
from holdfastd.web.pages.counted_tasks import counted_meanwhile
from holdfastd.web.pages.task_filter import TaskFilter
from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page

LISTED = 50  # bulk changes


async def confirm(request: Request) -> Response:
    """The number of tasks that a filter finds, before they are changed."""
    check_may_change(visitor_of(request))
    wanted, change = TaskFilter.of(request.query_params), change_of(request, request.query_params)
    before = CountedTasks(wanted.found_before, wanted.searched_before, 0, wanted.cursor)
    count = await counted_meanwhile(request, change, before)
    return page(request, "bulk_confirm.html", wanted=wanted, verb=str(change.verb), count=count)


async def bulk(request: Request) -> Response:
    access = queue_of(request)
    now_ms = await access.store.clock_ms()
    changes = [(each, str(each.state_at(now_ms))) for each in await access.store.bulk_changes(LISTED)]
    return page(request, "bulk.html", changes=changes)
