"""Bulk changes: the page that asks for a confirmation with the number of tasks, and the list of those begun."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response

from holdfastd.web.changes.bulk_changes import asked_states, asked_verb
from holdfastd.web.forms import check_may_change, visitor_of
from holdfastd.web.pages.counted_tasks import counted_tasks
from holdfastd.web.pages.task_filter import TaskFilter
from holdfastd.web.queue_access import queue_of
from holdfastd.web.rendering import page

LISTED = 50  # bulk changes


async def confirm(request: Request) -> Response:
    """The number of tasks that a filter finds, before they are changed."""
    check_may_change(visitor_of(request))
    wanted, verb = TaskFilter.of(request.query_params), asked_verb(request.query_params)
    count = await counted_tasks(request, wanted, asked_states(verb, wanted))
    return page(request, "bulk_confirm.html", wanted=wanted, verb=str(verb), count=count)


async def bulk(request: Request) -> Response:
    access = queue_of(request)
    now_ms = await access.store.clock_ms()
    changes = [(each, str(each.state_at(now_ms))) for each in await access.store.bulk_changes(LISTED)]
    return page(request, "bulk.html", changes=changes)
