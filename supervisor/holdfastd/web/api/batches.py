"""Operations on batches."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.arguments import check_batch_id
from holdfast.core.batches import TaskEnd
from holdfastd.documents.task_documents import BatchDocument, batch_document
from holdfastd.operations.batches import CANCEL_BATCH, SEAL_BATCH, known_batch
from holdfastd.web.api.act_route import route
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.api.types import Limit, PageQuery


class BatchList(TypedDict):
    """A page of batches, the latest first. `unreadable`: ids of those whose records cannot be read."""

    batches: list[BatchDocument]
    unreadable: list[str]
    cursor: str


class BatchTaskQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    after: Annotated[int, Meta(ge=0, le=1_000_000, description="Only tasks behind this place.")] = 0
    limit: Limit = 100


class BatchTaskDocument(TypedDict):
    """A task at its place, from 1; `end`: how it has ended, open if it has not."""

    place: int
    task_id: str
    end: TaskEnd


class BatchTaskList(TypedDict):
    """Tasks of a batch in the order in which they were submitted. `more`: there are places behind these, to be had with
    `after`."""

    tasks: list[BatchTaskDocument]
    more: bool


async def list_batches(call: ApiCall, query: PageQuery) -> BatchList:
    """List batches, the latest first: the number of their tasks by how these have ended."""
    page = await call.manager.batches(query.limit, query.cursor)
    listed = [batch_document(each) for each in page.batches]
    return {"batches": listed, "unreadable": list(page.unreadable), "cursor": page.cursor}


async def get_batch(call: ApiCall, batch: str) -> BatchDocument:
    """Show one batch: its counts, its callback, when it was sealed and has ended."""
    return batch_document(await known_batch(call.store, batch))


async def batch_tasks(call: ApiCall, batch: str, query: BatchTaskQuery) -> BatchTaskList:
    """List the tasks of a batch."""
    found, more = await call.store.batch_tasks(check_batch_id(batch), query.after, query.limit)
    if not found:
        await known_batch(call.store, batch)
    listed: list[BatchTaskDocument] = [
        {"place": each.place, "task_id": each.task_id, "end": each.end} for each in found
    ]
    return {"tasks": listed, "more": more}


BATCHES = (
    ApiOperation("GET", "/batches", list_batches),
    ApiOperation("GET", "/batches/{batch}", get_batch),
    ApiOperation("GET", "/batches/{batch}/tasks", batch_tasks),
    route("POST", "/batches/{batch}/seal", SEAL_BATCH),
    route("POST", "/batches/{batch}/cancel", CANCEL_BATCH),
)
