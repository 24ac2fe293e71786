"""Operations on dead letters and on unreadable entries."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.arguments import Duration, check_duration
from holdfastd.documents import task_documents
from holdfastd.documents.queue_documents import UnreadableDocument, unreadable_document
from holdfastd.operations.dead import REMOVE_DEAD
from holdfastd.operations.unreadable import REMOVE_UNREADABLE, RETRY_UNREADABLE, missing
from holdfastd.web.api.act_route import route
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.api.tasks import TaskList
from holdfastd.web.api.types import Limit, PageQuery


class DeadQuery(PageQuery, frozen=True, forbid_unknown_fields=True):
    older: Annotated[Duration | None, Meta(description="Only tasks that failed longer ago.")] = None


class UnreadableQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    limit: Limit = 10


class UnreadableList(TypedDict):
    entries: list[UnreadableDocument]


async def list_dead(call: ApiCall, query: DeadQuery) -> TaskList:
    """List dead letters, newest first: tasks that failed at every attempt or ended too many workers."""
    before_ms = None
    if query.older is not None:
        before_ms = max(0, await call.store.clock_ms() - round(check_duration("older", query.older) * 1000))
    page = await call.manager.dead_letters(query.limit, query.cursor, before_ms)
    listed = [task_documents.listed(task) for task in page.tasks]
    return {"tasks": listed, "unreadable": list(page.unreadable), "searched": page.searched, "cursor": page.cursor}


async def list_unreadable(call: ApiCall, query: UnreadableQuery) -> UnreadableList:
    """List entries that were set aside because they are not valid tasks, newest first."""
    return {"entries": [unreadable_document(each) for each in await call.store.unreadable(query.limit)]}


async def get_unreadable(call: ApiCall, address: str) -> UnreadableDocument:
    """Show one entry in full, as far as it was kept (64 KiB)."""
    each = await call.store.unreadable_at(address)
    if each is None:
        raise missing(address)
    return unreadable_document(each)


SET_ASIDE = (
    ApiOperation("GET", "/dead", list_dead),
    route("DELETE", "/dead/{task_id}", REMOVE_DEAD),
    ApiOperation("GET", "/queue/unreadable", list_unreadable),
    ApiOperation("GET", "/queue/unreadable/{address}", get_unreadable),
    route("POST", "/queue/unreadable/{address}/retry", RETRY_UNREADABLE),
    route("DELETE", "/queue/unreadable/{address}", REMOVE_UNREADABLE),
)
