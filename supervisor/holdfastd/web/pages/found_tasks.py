"""One page of tasks, gathered in steps of the store until it is full, or has taken as long as a reader is to wait."""

from __future__ import annotations

import time
from functools import partial

from holdfast.core.tasks import Page, TaskRecord
from holdfastd.web.pages.task_filter import TaskFilter
from holdfastd.web.queue_access import QueueAccess

PAGE = 50  # tasks
LONGEST = 0.025  # seconds; a step that has begun then is finished


async def found_tasks(access: QueueAccess, wanted: TaskFilter) -> Page:
    """The tasks that fit, newest first, from the cursor on."""
    step = partial(access.manager.search_tasks, wanted.text) if wanted.text else access.manager.list_tasks
    found, unreadable, searched, cursor = list[TaskRecord](), list[str](), 0, wanted.cursor
    until = time.monotonic() + LONGEST
    while True:
        page = await step(**wanted.arguments, limit=PAGE - len(found), cursor=cursor)
        found += page.tasks
        unreadable += page.unreadable
        searched += page.searched
        cursor = page.cursor
        if not cursor or len(found) >= PAGE or time.monotonic() >= until:
            return Page(tuple(found), cursor, tuple(unreadable), searched)
