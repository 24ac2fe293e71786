"""The number of tasks that a filter finds: exact where an index has it, else as far as they were counted."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, replace

from holdfast.client.bulk_steps import BulkSteps
from holdfast.core.bulk_changes import BulkChange
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted

AT_ONCE = 99  # tasks of one step


@dataclass(frozen=True, slots=True)
class CountedTasks:
    """`found` of the `searched` tasks, of about `of`; `cursor` goes on with counting. Exact without a cursor."""

    found: int
    searched: int
    of: int
    cursor: str = ""


async def counted_tasks(
    steps: BulkSteps, change: BulkChange, known: Mapping[State, int] | None, before: CountedTasks
) -> AsyncGenerator[CountedTasks]:
    """The tasks that a change would find, step by step. `known`: all by their states; None where no index has all, as a
    database remembers more. `before`: where to go on."""
    of = sum((known or {}).get(state, 0) for state in change.wanted.states)
    is_indexed = not change.text and replace(change.wanted, states=(), newest_first=False) == Wanted()
    if known is not None and is_indexed and not before.cursor:
        yield CountedTasks(of, of, of)
        return
    found, searched, cursor = before.found, before.searched, before.cursor
    while True:
        page = await steps.found(change.wanted, change.text, AT_ONCE, cursor)
        found += len(page.tasks)
        searched += page.searched
        cursor = page.cursor
        yield CountedTasks(found, searched, max(of, searched), cursor)
        if not cursor:
            return
