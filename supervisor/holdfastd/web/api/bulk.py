"""Operations on changes of many tasks: one verb for all tasks that a filter finds."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.bulk_steps import asked_change
from holdfast.core.bulk_changes import KEPT, BulkChange, BulkVerb
from holdfastd.documents.task_documents import BulkDocument, bulk_document
from holdfastd.operations.errors import NotFoundError
from holdfastd.operations.many_tasks import BEGIN_BULK, GO_ON_WITH_BULK, STOP_BULK
from holdfastd.web.api.act_route import route
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.queue.found_tasks import TaskSearch, counted_meanwhile


class BulkQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=KEPT, description="Maximum number of changes.")] = KEPT


class BulkList(TypedDict):
    changes: list[BulkDocument]


class BulkCount(TypedDict):
    """`found` of the `searched` tasks, of about `of`. `cursor`: goes on with counting, together with `found` and
    `searched`; empty once all are counted."""

    found: int
    searched: int
    of: int
    cursor: str


async def list_bulk_changes(call: ApiCall, query: BulkQuery) -> BulkList:
    """List changes of many tasks, newest first, and how far they are. The last 100 are kept."""
    now_ms = await call.store.clock_ms()
    return {"changes": [_document(call, each, now_ms) for each in await call.store.bulk_changes(query.limit)]}


async def count_for_bulk_change(call: ApiCall, verb: str, query: TaskSearch) -> BulkCount:
    """Count the tasks that a change of many tasks would change, for as long as a reader waits."""
    if verb not in set(BulkVerb):
        raise NotFoundError(f"no verb {verb[:50]!r} for many tasks: one of {', '.join(BulkVerb)} is expected")
    count = await counted_meanwhile(call.request, asked_change(BulkVerb(verb), query), query.before)
    return {"found": count.found, "searched": count.searched, "of": count.of, "cursor": count.cursor}


async def get_bulk_change(call: ApiCall, change_id: str) -> BulkDocument:
    """Show the progress of a change of many tasks."""
    change = await call.store.bulk_change(change_id)
    if change is None:
        raise NotFoundError(f"no change of many tasks {change_id[:50]!r}; the last {KEPT} are kept")
    return _document(call, change, await call.store.clock_ms())


def _document(call: ApiCall, change: BulkChange, now_ms: int) -> BulkDocument:
    return bulk_document(change, now_ms, call.access.redaction.query)


EXAMPLES = {"retry": {"verb": "retry", "state": ["failed"], "name": "billing.send_statement", "newer": "1h"}}
BULK = (
    ApiOperation("GET", "/bulk", list_bulk_changes),
    route("POST", "/bulk", BEGIN_BULK, statuses=(202,), examples=EXAMPLES),
    ApiOperation("GET", "/bulk/{verb}/count", count_for_bulk_change),
    ApiOperation("GET", "/bulk/{change_id}", get_bulk_change),
    route("POST", "/bulk/{change_id}/stop", STOP_BULK),
    route("POST", "/bulk/{change_id}/go-on", GO_ON_WITH_BULK),
)
