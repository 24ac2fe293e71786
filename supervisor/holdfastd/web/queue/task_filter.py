"""The filter of the list of tasks, as its address holds it."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import urlencode

from starlette.exceptions import HTTPException
from starlette.requests import Request

from holdfast.client.arguments import check_text
from holdfast.client.bulk_steps import BulkSteps, CountedTasks, counted_tasks
from holdfast.core.bulk_changes import BulkChange
from holdfast.core.task_states import State
from holdfast.core.tasks import Page, TaskRecord
from holdfast_config import durations
from holdfastd.web.queue.queue_access import QueueAccess, queue_of

MOST = 10**15


@dataclass(frozen=True, slots=True)
class TaskFilter:
    """Empty texts: any. `newer`, `older`: durations such as 5m, of the age of the task. `cursor`: where to go on;
    `found`, `searched`: the numbers of tasks before that."""

    task_id: str = ""
    state: str = ""
    lane: str = ""
    name: str = ""
    batch: str = ""
    owner: str = ""
    newer: str = ""
    older: str = ""
    text: str = ""
    cursor: str = ""
    found: str = ""
    searched: str = ""

    @classmethod
    def of(cls, query: Mapping[str, str]) -> TaskFilter:
        """Raises HTTPException 400, or InvalidTaskError, for a value that is not allowed."""
        found = cls(**{field: query.get(field, "").strip() for field in cls.__dataclass_fields__})
        if found.state and found.state not in set(State):
            raise HTTPException(400, f"state {found.state[:50]!r}: one of {', '.join(State)} is expected")
        _ = found.found_before, found.searched_before, found.arguments, found.text and check_text(found.text)
        return found

    @property
    def found_before(self) -> int:
        return _number("found", self.found)

    @property
    def searched_before(self) -> int:
        return _number("searched", self.searched)

    @property
    def arguments(self) -> dict[str, Any]:
        """As TaskManager.list_tasks takes them."""
        names = ("state", "lane", "name", "batch", "owner")
        wanted: dict[str, Any] = {name: getattr(self, name) or None for name in names}
        ages = {"newer_than": _age("newer", self.newer), "older_than": _age("older", self.older)}
        return wanted | ages | {"newest_first": True}

    @property
    def query(self) -> str:
        """The query of an address with the filter alone, from its beginning."""
        places = {"task_id", "cursor", "found", "searched"}
        kept = {field: getattr(self, field) for field in self.__dataclass_fields__ if field not in places}
        return urlencode({field: value for field, value in kept.items() if value})


def _age(what: str, text: str) -> float | None:
    try:
        return durations.seconds(text) if text else None
    except ValueError as error:
        raise HTTPException(400, f"{what} {text[:50]!r}: {error}") from None


def _number(what: str, text: str) -> int:
    if text and not (text.isascii() and text.isdigit() and len(text) <= 20 and int(text) <= MOST):
        raise HTTPException(400, f"{what} {text[:50]!r}: a number of tasks is expected")
    return int(text or 0)


# One page of tasks, gathered in steps of the store until it is full, or has taken as long as a reader is to wait.

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
