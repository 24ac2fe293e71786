"""The number of tasks that a filter finds: exact where an index has it, else as far as they were counted."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request

from holdfast.core.task_states import State
from holdfastd.web.pages.found_tasks import LONGEST
from holdfastd.web.pages.task_filter import TaskFilter
from holdfastd.web.queue_access import queue_of

AT_ONCE = 99  # tasks of one step


@dataclass(frozen=True, slots=True)
class CountedTasks:
    """`found` of the `searched` tasks, of about `of`; `cursor` goes on with counting. Exact without a cursor."""

    found: int
    searched: int
    of: int
    cursor: str = ""


async def counted_tasks(request: Request, wanted: TaskFilter, states: Sequence[State]) -> CountedTasks:
    known = (await request.app.state.counts.read()).states
    of = sum(known.get(state, 0) for state in states)
    if wanted.is_state_alone:
        return CountedTasks(of, of, of)
    step = queue_of(request).reader_of_tasks(wanted.text)
    asked: dict[str, Any] = wanted.arguments | {"state": None}
    found, searched, cursor = wanted.found_before, wanted.searched_before, wanted.cursor
    until = time.monotonic() + LONGEST
    while True:
        page = await step(*states, **asked, limit=AT_ONCE, cursor=cursor)
        found += len(page.tasks)
        searched += page.searched
        cursor = page.cursor
        if not cursor or time.monotonic() >= until:
            return CountedTasks(found, searched, max(of, searched), cursor)
