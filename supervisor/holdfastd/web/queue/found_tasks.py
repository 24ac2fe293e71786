"""One page of tasks, gathered in steps of the store until it is full, or has taken as long as a reader is to wait."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from functools import partial

from holdfast.core.tasks import Page, TaskRecord
from holdfastd.web.queue.queue_access import QueueAccess
from holdfastd.web.queue.task_filter import TaskFilter

PAGE = 50  # tasks
STEP = 100  # tasks that are asked for at once
LONGEST = 0.025  # seconds; a step that has begun then is finished


async def found_tasks(access: QueueAccess, wanted: TaskFilter) -> Page:
    """The tasks that fit, newest first, from the cursor on."""
    return await gathered(partial(access.reader_of_tasks(wanted.text), **wanted.arguments), PAGE, wanted.cursor)


async def gathered(read: Callable[..., Awaitable[Page]], limit: int, cursor: str) -> Page:
    """At most `limit` tasks from the cursor on. `read(limit=, cursor=)` reads a page."""
    found, unreadable, searched = list[TaskRecord](), list[str](), 0
    until = time.monotonic() + LONGEST
    while True:
        page = await read(limit=min(STEP, limit - len(found)), cursor=cursor)
        found += page.tasks
        unreadable += page.unreadable
        searched += page.searched
        cursor = page.cursor
        if not cursor or len(found) >= limit or time.monotonic() >= until:
            return Page(tuple(found), cursor, tuple(unreadable), searched)
