"""Bulk changes: changes of all tasks that match a filter. This module makes a change from a checked filter, and carries
it out in steps; a step finds some tasks and changes them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import Any

from holdfast.client.submit_retries import SubmitRetries
from holdfast.client.task_filter import TaskFilter
from holdfast.core.bulk_changes import BulkChange, BulkVerb, states_of
from holdfast.core.plain_json import shown
from holdfast.core.task_states import State
from holdfast.core.tasks import Page, Retried, TaskObstacle, TaskRecord, TextSearch, Wanted, as_it_is
from holdfast.errors import InvalidTaskError
from holdfast.store import Store

# Make the request of a bulk change.


def checked_verb(given: object) -> BulkVerb:
    """Check the name of a verb; returns the verb. Raises InvalidTaskError for an unknown one."""
    if given not in set(BulkVerb):
        raise InvalidTaskError(f"verb {shown(given)}: one of {', '.join(BulkVerb)} is expected")
    return BulkVerb(str(given))


def asked_change(verb: BulkVerb, given: TaskFilter, *, who: str = "", origin: str = "", reason: str = "") -> BulkChange:
    """A bulk change that has not begun. A change that is only counted needs no `who`. Raises InvalidTaskError for a
    wrong filter, or if the verb cannot change tasks in the states of the filter."""
    wanted = given.wanted(newest_first=True)
    states = states_of(verb, wanted.states)
    if not states:
        allowed = ", ".join(states_of(verb, []))
        raise InvalidTaskError(
            f"state: {verb} changes no task that is {' or '.join(wanted.states)}: choose {allowed}, or any state"
        )
    return BulkChange(
        change_id=secrets.token_hex(8),
        verb=verb,
        who=who,
        origin=origin,
        query=given.query,
        wanted=replace(wanted, states=states),
        text=given.text or "",
        reason=reason,
    )


CHANGED_AT_ONCE = 50  # tasks that one step changes


class _Came(Enum):
    """The outcome of a bulk change for one task."""

    CHANGED = auto()
    REFUSED = auto()
    MOVED = auto()  # the task no longer matched the filter when the step reached it
    NEITHER = auto()  # the task was retried before, by this change or by another caller


class BulkSteps:
    """The steps of bulk changes over one store. `shown` removes from a value what the reader may not see, as in
    TextSearch."""

    def __init__(self, store: Store, retries: SubmitRetries, shown: Callable[[Any], Any] = as_it_is) -> None:
        self._store = store
        self._shown = shown
        self._call = retries.call

    async def step(self, change: BulkChange) -> BulkChange:
        """Do one step; returns the change with new counts and cursor. A task is not changed twice, even if the step is
        repeated or a later step finds the same task."""
        wanted = change.step_at(await self._call(self._store.clock_ms))
        page = await self.found(wanted, change.text, CHANGED_AT_ONCE, change.cursor)
        came = await self._carry_out(change, [task for task in page.tasks if change.is_for(task)])
        return change.after(
            changed=came.count(_Came.CHANGED),
            refused=came.count(_Came.REFUSED) + len(page.unreadable),
            moved=came.count(_Came.MOVED),
            searched=page.searched,
            cursor=page.cursor,
        )

    async def noted_step(self, change: BulkChange) -> tuple[BulkChange, bool]:
        """Do one step and note it in the store. Returns the change after the step, and whether more steps follow."""
        after = await self.step(change)
        return after, await self._store.note_bulk(change, after)

    async def found(self, wanted: Wanted, text: str, limit: int, cursor: str) -> Page:
        """The next page of the tasks of a filter."""
        if not text:
            return await self._call(self._store.tasks, wanted, limit, cursor)
        return await self._call(self._store.search, wanted, TextSearch(text, self._shown), limit, cursor)

    async def _carry_out(self, change: BulkChange, tasks: Sequence[TaskRecord]) -> list[_Came]:
        """Change these tasks; returns one result for each task. The results are in the order of the tasks, except after
        a removal."""
        match change.verb:
            case BulkVerb.REMOVE:
                return await self._remove([task.task_id for task in tasks])
            case BulkVerb.CANCEL:
                return [await self._cancel(task, change.task_reason) for task in tasks]
            case BulkVerb.RETRY:
                return [await self._retry(task, change) for task in tasks]

    async def _remove(self, task_ids: Sequence[str]) -> list[_Came]:
        removed = await self._call(self._store.forget_tasks, task_ids) if task_ids else 0
        is_all = removed == len(task_ids)
        found = [] if is_all else [await self._call(self._store.get, each, payloads=False) for each in task_ids]
        kept = len(found) - found.count(None)
        moved = max(0, len(task_ids) - removed - kept)
        return [_Came.CHANGED] * removed + [_Came.REFUSED] * kept + [_Came.MOVED] * moved

    async def _cancel(self, task: TaskRecord, reason: str) -> _Came:
        word = await self._call(self._store.cancel, task.task_id, reason)
        return _Came.CHANGED if word is State.CANCELED else _obstacle(word)

    async def _retry(self, task: TaskRecord, change: BulkChange) -> _Came:
        word = (await self._call(self._store.retry, task.task_id, change.task_reason, change.change_id)).word
        if not isinstance(word, Retried):
            return _obstacle(word)
        return _Came.NEITHER if word is Retried.AGAIN else _Came.CHANGED


def _obstacle(word: State | TaskObstacle) -> _Came:
    """The result for a task that could not be changed. MOVED: the task is gone or has another state by now, so the
    filter no longer finds it. REFUSED: any other obstacle."""
    return _Came.MOVED if word is TaskObstacle.UNKNOWN or isinstance(word, State) else _Came.REFUSED


# The number of tasks that a filter finds. An index gives the exact number at once; without one the tasks are counted in
# steps.

COUNTED_AT_ONCE = 99  # tasks of one step


@dataclass(frozen=True, slots=True)
class CountedTasks:
    """A count of tasks so far: of about `of` tasks in all, `searched` were read, and `found` of these match. `cursor`
    continues the count; an empty cursor means that the count is complete."""

    found: int
    searched: int
    of: int
    cursor: str = ""


async def counted_tasks(
    steps: BulkSteps, change: BulkChange, known: Mapping[State, int] | None, before: CountedTasks
) -> AsyncGenerator[CountedTasks]:
    """Count the tasks that a change would find; yields the count after each step. `known`: the numbers of tasks by
    state. It is None if the store's indexes do not hold all tasks, because PostgreSQL keeps more. `before`: an
    unfinished count to continue."""
    of = sum((known or {}).get(state, 0) for state in change.wanted.states)
    is_indexed = not change.text and replace(change.wanted, states=(), newest_first=False) == Wanted()
    if known is not None and is_indexed and not before.cursor:
        yield CountedTasks(of, of, of)
        return
    found, searched, cursor = before.found, before.searched, before.cursor
    while True:
        page = await steps.found(change.wanted, change.text, COUNTED_AT_ONCE, cursor)
        found += len(page.tasks)
        searched += page.searched
        cursor = page.cursor
        yield CountedTasks(found, searched, max(of, searched), cursor)
        if not cursor:
            return
