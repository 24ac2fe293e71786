"""Bulk changes: the page that asks for a confirmation with the number of tasks, and the list of those begun."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.arguments import WantedTasks
from holdfast.client.bulk_steps import CountedTasks, asked_change, checked_verb
from holdfast.core.bulk_changes import BulkChange
from holdfastd.web.access.forms import check_may_change, visitor_of
from holdfastd.web.queue.activity_notes import origin
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.queue.task_filter import TaskFilter, counted_meanwhile
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


def change_of(request: Request, fields: Mapping[str, str]) -> BulkChange:
    """The change that these fields ask for. Raises HTTPException 400, InvalidTaskError."""
    wanted = TaskFilter.of(fields)
    verb, asked = checked_verb(fields.get("verb", "")), wanted.arguments
    states = [state] if (state := asked.pop("state")) else []
    who = visitor_of(request).name
    return asked_change(verb, states, cast("WantedTasks", asked), wanted.text, who=who, origin=origin(request))
