"""The tasks that a filter finds: a page of them, and their number, as far as a reader waits for both."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import aclosing
from typing import Annotated

import msgspec
from msgspec import Meta
from starlette.requests import Request

from holdfast.client.bulk_steps import BulkSteps, CountedTasks, counted_tasks
from holdfast.client.task_filter import TaskFilter
from holdfast.core.bulk_changes import BulkChange
from holdfast.core.tasks import Page, TaskRecord
from holdfastd.web.queue.queue_access import QueueAccess, queue_of

Number = Annotated[int, Meta(ge=0, le=10**15)]
Cursor = Annotated[str, Meta(max_length=1000, description="Continue after an earlier page: the cursor that it gave.")]


class TaskSearch(TaskFilter, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A filter, and where an earlier answer has stopped."""

    found: Annotated[Number, Meta(description="The tasks that were found before.")] = 0
    searched: Annotated[Number, Meta(description="The tasks that were searched before.")] = 0
    cursor: Cursor = ""

    @property
    def before(self) -> CountedTasks:
        return CountedTasks(self.found, self.searched, 0, self.cursor)


def filter_texts(fields: Mapping[str, str], kind: type[TaskFilter]) -> dict[str, object]:
    """The arguments that a form or an address gives. A form has one state; the filter takes several."""
    names = {each.name for each in msgspec.structs.fields(kind)}
    given: dict[str, object] = {name: text.strip() for name, text in fields.items() if name in names and text.strip()}
    return {**given, "state": [given["state"]]} if "state" in given else given


# One page of tasks, gathered in steps of the store until it is full, or has taken as long as a reader is to wait.

STEP = 100  # tasks that are asked for at once
LONGEST = 0.025  # seconds; a step that has begun then is finished


async def found_tasks(
    access: QueueAccess, wanted: TaskFilter, limit: int, cursor: str, *, newest_first: bool = True
) -> Page:
    """At most `limit` tasks from the cursor on. Hidden values are not searched."""
    found, unreadable, searched = list[TaskRecord](), list[str](), 0
    until = time.monotonic() + LONGEST
    while True:
        most = min(STEP, limit - len(found))
        page = await access.manager.find(wanted, most, cursor, newest_first=newest_first, shown=access.redaction.value)
        found += page.tasks
        unreadable += page.unreadable
        searched += page.searched
        cursor = page.cursor
        if not cursor or len(found) >= limit or time.monotonic() >= until:
            return Page(tuple(found), cursor, tuple(unreadable), searched)


# The number of tasks that a filter finds, as far as they are counted while a reader waits.


async def counted_meanwhile(request: Request, change: BulkChange, before: CountedTasks) -> CountedTasks:
    access = queue_of(request)
    known = None if access.settings.postgres else (await request.app.state.counts.read()).states
    steps = BulkSteps(access.store, access.manager.retries, access.redaction.value)
    until, count = time.monotonic() + LONGEST, before
    async with aclosing(counted_tasks(steps, change, known, before)) as counts:
        async for each in counts:
            count = each
            if time.monotonic() >= until:
                break
    return count
