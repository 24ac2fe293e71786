"""Bulk changes: the page that asks for a confirmation with the number of tasks, and the list of those begun."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from holdfast.client.bulk_steps import CountedTasks
from holdfastd.operations.bulk import BEGIN_BULK, asked_bulk
from holdfastd.web.access.forms import check_may_change, visitor_of
from holdfastd.web.queue.queue_access import queue_of
from holdfastd.web.queue.task_filter import TaskFilter, counted_meanwhile
from holdfastd.web.rendering import page

LISTED = 50  # bulk changes


async def confirm(request: Request) -> Response:
    """The number of tasks that a filter finds, before they are changed."""
    check_may_change(visitor_of(request))
    wanted, given = TaskFilter.of(request.query_params), BEGIN_BULK.read_texts(typed_filter(request.query_params))
    before = CountedTasks(wanted.found_before, wanted.searched_before, 0, wanted.cursor)
    count = await counted_meanwhile(request, asked_bulk(given.verb, given), before)
    return page(request, "bulk_confirm.html", wanted=wanted, verb=str(given.verb), count=count)


async def bulk(request: Request) -> Response:
    access = queue_of(request)
    now_ms = await access.store.clock_ms()
    changes = [(each, str(each.state_at(now_ms))) for each in await access.store.bulk_changes(LISTED)]
    return page(request, "bulk.html", changes=changes)


def typed_filter(fields: Mapping[str, str]) -> Mapping[str, object]:
    """What a form or an address gives for the act. It has one state, of which the act takes several."""
    names = {each.name for each in BEGIN_BULK.fields}
    given: dict[str, object] = {name: text.strip() for name, text in fields.items() if name in names and text.strip()}
    return {**given, "state": [given["state"]]} if "state" in given else given
