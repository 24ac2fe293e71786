"""Operations on tasks, changes of many tasks, batches, dead letters and unreadable entries."""

from __future__ import annotations

from contextlib import suppress
from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta
from starlette.responses import Response

from holdfast.client.arguments import check_batch_id
from holdfast.client.bulk_steps import asked_change
from holdfast.client.task_filter import OfError, TaskListing
from holdfast.client.task_spec import TaskSpec
from holdfast.core.acceptance import Accepted
from holdfast.core.batches import TaskEnd
from holdfast.core.bulk_changes import KEPT, BulkChange, BulkVerb
from holdfast.why.document import WhyDocument
from holdfastd.documents import task_documents
from holdfastd.documents.queue_documents import UnreadableDocument, unreadable_document
from holdfastd.operations import batches, dead, many_tasks, tasks, unreadable
from holdfastd.operations.act import Face
from holdfastd.operations.error_statuses import NotFoundError
from holdfastd.operations.submit_tasks import SUBMIT_TASKS, SubmitTasks, TaskReceipt, TaskSpecs, Unchecked
from holdfastd.web.access.forms import doing, hint
from holdfastd.web.api.operation import ApiCall, ApiOperation, Limit, PageQuery, route
from holdfastd.web.live.event_streams import task_stream
from holdfastd.web.live.stream_response import held
from holdfastd.web.queue.found_tasks import Cursor, TaskSearch, counted_meanwhile, found_tasks


class SubmitQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    unchecked: Unchecked = False


async def submit_tasks(
    call: ApiCall, body: TaskSpec | TaskSpecs, query: SubmitQuery
) -> TaskReceipt | list[TaskReceipt]:
    """Submit one task, or a list of tasks.

    The status is 201 if a task is new, and 200 for the same task with the same id again. Other content under a known id
    gets 409. All tasks of a list are checked before the first is written. Arguments that do not fit a published handler
    are refused, unless `unchecked` is set.
    """
    tasks = [body] if isinstance(body, TaskSpec) else body
    receipts = await SUBMIT_TASKS.carry_out(
        doing(call.access, call.asked, Face.API), SubmitTasks(tasks, query.unchecked)
    )
    call.status = 201 if any(each["answer"] == Accepted.NEW for each in receipts) else 200
    return receipts[0] if isinstance(body, TaskSpec) else receipts


SUBMITTED = {
    "text": {"text": "hello"},
    "handler": {"name": "billing.send_statement", "kwargs": {"region": "eu"}, "task_id": "statement-7", "delay": 60},
    "list": [{"text": "one", "key": "import-7-1"}, {"text": "two", "key": "import-7-2"}],
}
INTAKE = (ApiOperation("POST", "/tasks", submit_tasks, SUBMIT_TASKS, (201, 200), SUBMITTED),)


LONGEST_WAIT = 60.0  # seconds

Wait = Annotated[
    float,
    Meta(
        ge=0,
        le=LONGEST_WAIT,
        description="Maximum number of seconds to wait until the task has ended or asks for input, before the answer.",
    ),
]


class TaskListQuery(TaskListing, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A page of the tasks that a filter finds."""

    limit: Limit = 100
    cursor: Cursor = ""


class TaskList(TypedDict):
    """A page of tasks. `unreadable`: ids of tasks whose records cannot be read; `searched`: the number of tasks that
    were looked at; `cursor`: continues the list, empty on the last page. A page that is not the last may hold fewer
    tasks than `limit`, even none."""

    tasks: list[task_documents.ListedTask]
    unreadable: list[str]
    searched: int
    cursor: str


class WaitQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    wait: Wait = 0.0


class AfterQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    after: Annotated[str, Meta(max_length=100, description="Id of the last event that was read.")] = ""


async def list_tasks(call: ApiCall, query: TaskListQuery) -> TaskList:
    """List tasks: first running ones, then waiting, delayed and paused ones, then ended ones, the latest first."""
    page = await found_tasks(call.access, query, query.limit, query.cursor, newest_first=query.newest_first)
    if not (page.tasks or page.cursor or query.cursor):
        await hint(call.request, query)
    listed = [task_documents.listed(task) for task in page.tasks]
    return {"tasks": listed, "unreadable": list(page.unreadable), "searched": page.searched, "cursor": page.cursor}


async def get_task(call: ApiCall, task_id: tasks.TaskId, query: WaitQuery) -> task_documents.WholeTask:
    """Show one task in full, with its result. With `wait`, first wait until the task has ended or asks for input."""
    if query.wait:
        async with held(call.request) as wait:
            with suppress(TimeoutError):
                await wait(call.manager.wait(task_id, query.wait))
    return task_documents.whole(await call.manager.get_task(task_id))


async def task_events(call: ApiCall, task_id: tasks.TaskId, query: AfterQuery) -> Response:
    """Follow a task to its end, as server-sent events: `change`, `part` and `end`.

    A `change` has the state of the task and the new steps of its history. A `part` has a part of the answer. After a
    broken connection, the header Last-Event-ID or `after` continues the events.
    """
    return await task_stream(call.request, task_id)


async def why_task(call: ApiCall, task_id: tasks.TaskId) -> WhyDocument:
    """Show a task's history, how long it waited and ran, its present state, what happens next, and what you can do."""
    return await call.manager.why(task_id, settings=call.access.settings)


TASKS = (
    ApiOperation("GET", "/tasks", list_tasks),
    ApiOperation("GET", "/tasks/{task_id}", get_task),
    route("DELETE", "/tasks/{task_id}", tasks.REMOVE_TASK),
    ApiOperation("GET", "/tasks/{task_id}/events", task_events),
    ApiOperation("GET", "/tasks/{task_id}/why", why_task),
    route("POST", "/tasks/{task_id}/cancel", tasks.CANCEL_TASK),
    route("POST", "/tasks/{task_id}/pause", tasks.PAUSE_TASK),
    route(
        "POST",
        "/tasks/{task_id}/resume",
        tasks.RESUME_TASK,
        examples={"plain": {}, "with a message": {"text": "on Friday", "reason": "asked by phone"}},
    ),
    route("POST", "/tasks/{task_id}/messages", tasks.SEND_MESSAGE, examples={"answer": {"text": "yes"}}),
    route("POST", "/tasks/{task_id}/retry", tasks.RETRY_TASK),
)


class BulkQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=KEPT, description="Maximum number of changes.")] = KEPT


class BulkList(TypedDict):
    changes: list[task_documents.BulkDocument]


class BulkCount(TypedDict):
    """`found`: the number of matching tasks among the `searched` ones; there are about `of` in all. `cursor`: with
    `found` and `searched` it continues the count; empty when the count is complete."""

    found: int
    searched: int
    of: int
    cursor: str


async def list_bulk_changes(call: ApiCall, query: BulkQuery) -> BulkList:
    """List changes of many tasks and their progress, newest first. The last 100 are kept."""
    now_ms = await call.store.clock_ms()
    return {"changes": [_document(call, each, now_ms) for each in await call.store.bulk_changes(query.limit)]}


VerbName = Annotated[str, Meta(description="The change.", extra_json_schema={"enum": list(BulkVerb)})]


async def count_for_bulk_change(call: ApiCall, verb: VerbName, query: TaskSearch) -> BulkCount:
    """Count the tasks that a change of many tasks would change. A long count comes in several answers."""
    if verb not in set(BulkVerb):
        raise NotFoundError(f"verb {verb[:50]!r} cannot change many tasks: one of {', '.join(BulkVerb)} is expected")
    count = await counted_meanwhile(call.request, asked_change(BulkVerb(verb), query), query.before)
    return {"found": count.found, "searched": count.searched, "of": count.of, "cursor": count.cursor}


async def get_bulk_change(call: ApiCall, change_id: many_tasks.ChangeId) -> task_documents.BulkDocument:
    """Show the progress of a change of many tasks."""
    change = await call.store.bulk_change(change_id)
    if change is None:
        raise NotFoundError(f"no change of many tasks has the id {change_id[:50]!r}; the last {KEPT} changes are kept")
    return _document(call, change, await call.store.clock_ms())


def _document(call: ApiCall, change: BulkChange, now_ms: int) -> task_documents.BulkDocument:
    return task_documents.bulk_document(change, now_ms, call.access.redaction.query)


EXAMPLES = {"retry": {"verb": "retry", "state": ["failed"], "name": "billing.send_statement", "newer": "1h"}}
BULK = (
    ApiOperation("GET", "/bulk", list_bulk_changes),
    route("POST", "/bulk", many_tasks.BEGIN_BULK, statuses=(202,), examples=EXAMPLES),
    ApiOperation("GET", "/bulk/{verb}/count", count_for_bulk_change),
    ApiOperation("GET", "/bulk/{change_id}", get_bulk_change),
    route("POST", "/bulk/{change_id}/stop", many_tasks.STOP_BULK),
    route("POST", "/bulk/{change_id}/go-on", many_tasks.GO_ON_WITH_BULK),
)


class BatchList(TypedDict):
    """A page of batches, the latest first. `unreadable`: ids of batches whose records cannot be read."""

    batches: list[task_documents.BatchDocument]
    unreadable: list[str]
    cursor: str


class BatchTaskQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    after: Annotated[int, Meta(ge=0, le=1_000_000, description="Only tasks behind this place.")] = 0
    limit: Limit = 100


class BatchTaskDocument(TypedDict):
    """A task of a batch. `place`: its place in the batch, from 1; `end`: how the task has ended, or open."""

    place: int
    task_id: str
    end: TaskEnd


class BatchTaskList(TypedDict):
    """Tasks of a batch in the order of submission. `more`: the batch has further tasks; `after` continues the list."""

    tasks: list[BatchTaskDocument]
    more: bool


async def list_batches(call: ApiCall, query: PageQuery) -> BatchList:
    """List batches, the latest first, with their numbers of open, completed, failed, rejected and canceled tasks."""
    page = await call.manager.batches(query.limit, query.cursor)
    listed = [task_documents.batch_document(each) for each in page.batches]
    return {"batches": listed, "unreadable": list(page.unreadable), "cursor": page.cursor}


async def get_batch(call: ApiCall, batch: batches.Batch) -> task_documents.BatchDocument:
    """Show one batch: its counts, its callback, and the times when it was sealed (takes no more tasks) and ended."""
    return task_documents.batch_document(await batches.known_batch(call.store, batch))


async def batch_tasks(call: ApiCall, batch: batches.Batch, query: BatchTaskQuery) -> BatchTaskList:
    """List the tasks of a batch."""
    found, more = await call.store.batch_tasks(check_batch_id(batch), query.after, query.limit)
    if not found:
        await batches.known_batch(call.store, batch)
    listed: list[BatchTaskDocument] = [
        {"place": each.place, "task_id": each.task_id, "end": each.end} for each in found
    ]
    return {"tasks": listed, "more": more}


BATCHES = (
    ApiOperation("GET", "/batches", list_batches),
    ApiOperation("GET", "/batches/{batch}", get_batch),
    ApiOperation("GET", "/batches/{batch}/tasks", batch_tasks),
    route("POST", "/batches/{batch}/seal", batches.SEAL_BATCH),
    route("POST", "/batches/{batch}/cancel", batches.CANCEL_BATCH),
)


class DeadQuery(PageQuery, frozen=True, forbid_unknown_fields=True):
    error: OfError = None
    older: dead.FailedAgo = None


class UnreadableQuery(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    limit: Limit = 10


class UnreadableList(TypedDict):
    entries: list[UnreadableDocument]


async def list_dead(call: ApiCall, query: DeadQuery) -> TaskList:
    """List dead letters, newest first: tasks that failed at every attempt or ended too many workers.

    With `error` a page may hold fewer tasks than `limit`, even none, and others may follow.
    """
    before_ms = await dead.failed_before(call.store, query.older)
    page = await dead.dead_page(call.manager, query.limit, query.cursor, before_ms, query.error)
    listed = [task_documents.listed(task) for task in page.tasks]
    return {"tasks": listed, "unreadable": list(page.unreadable), "searched": page.searched, "cursor": page.cursor}


async def list_unreadable(call: ApiCall, query: UnreadableQuery) -> UnreadableList:
    """List entries that were set aside because they are not valid tasks, newest first."""
    return {"entries": [unreadable_document(each) for each in await call.store.unreadable(query.limit)]}


async def get_unreadable(call: ApiCall, address: unreadable.Address) -> UnreadableDocument:
    """Show one unreadable entry. At most its first 64 KiB are kept."""
    each = await call.store.unreadable_at(address)
    if each is None:
        raise unreadable.missing(address)
    return unreadable_document(each)


SET_ASIDE = (
    ApiOperation("GET", "/dead", list_dead),
    route("DELETE", "/dead/{task_id}", dead.REMOVE_DEAD),
    ApiOperation("GET", "/queue/unreadable", list_unreadable),
    ApiOperation("GET", "/queue/unreadable/{address}", get_unreadable),
    route("POST", "/queue/unreadable/{address}/retry", unreadable.RETRY_UNREADABLE),
    route("DELETE", "/queue/unreadable/{address}", unreadable.REMOVE_UNREADABLE),
)
