"""Operations on batches."""

from __future__ import annotations

from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.arguments import check_batch_id
from holdfast.core.batches import TaskEnd
from holdfastd.documents.batch_documents import BatchDocument, batch_document
from holdfastd.web.api.call import ApiCall
from holdfastd.web.api.operation import ApiOperation
from holdfastd.web.api.types import Limit, PageQuery, Reasoned


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


async def get_batch(call: ApiCall, batch_id: str) -> BatchDocument:
    """Show one batch: its counts, its callback, when it was sealed and has ended."""
    return batch_document(await call.manager.batch(batch_id).record())


async def batch_tasks(call: ApiCall, batch_id: str, query: BatchTaskQuery) -> BatchTaskList:
    """List the tasks of a batch."""
    found, more = await call.store.batch_tasks(check_batch_id(batch_id), query.after, query.limit)
    if not found:
        await call.manager.batch(batch_id).record()  # unknown?
    listed: list[BatchTaskDocument] = [
        {"place": each.place, "task_id": each.task_id, "end": each.end} for each in found
    ]
    return {"tasks": listed, "more": more}


async def seal_batch(call: ApiCall, batch_id: str) -> BatchDocument:
    """Seal a batch whose producer is gone: it takes no more tasks, and ends when those that it has have ended."""
    return batch_document(await call.manager.batch(batch_id).seal())


async def cancel_batch(call: ApiCall, batch_id: str, body: Reasoned) -> BatchDocument:
    """Cancel the callback of a batch and its tasks that have not ended. Running handlers are interrupted."""
    return batch_document(await call.manager.batch(batch_id).cancel(call.reason("its batch was canceled", body.reason)))


BATCHES = (
    ApiOperation("GET", "/batches", list_batches),
    ApiOperation("GET", "/batches/{batch_id}", get_batch),
    ApiOperation("GET", "/batches/{batch_id}/tasks", batch_tasks),
    ApiOperation("POST", "/batches/{batch_id}/seal", seal_batch, "batches/seal"),
    ApiOperation("POST", "/batches/{batch_id}/cancel", cancel_batch, "batches/cancel"),
)
