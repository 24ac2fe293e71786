"""Carries out bulk changes, step by step: each finds some tasks and changes them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.bulk_changes import BulkChange, BulkVerb
from holdfast.core.task_search import TextSearch, as_it_is
from holdfast.core.task_states import State
from holdfast.core.tasks import Retried, TaskRecord
from holdfast.store.protocol import Store

AT_ONCE = 50  # tasks that one step changes


class BulkSteps:
    """The steps of bulk changes over one store. `shown`: see TextSearch."""

    def __init__(self, store: Store, retries: SubmitRetries, shown: Callable[[Any], Any] = as_it_is) -> None:
        self._store = store
        self._shown = shown
        self._call = retries.call

    async def step(self, change: BulkChange) -> BulkChange:
        """The change after one step. A step again changes nothing twice."""
        wanted = change.step_at(await self._call(self._store.clock_ms))
        if change.text:
            search = TextSearch(change.text, self._shown)
            page = await self._call(self._store.search, wanted, search, AT_ONCE, change.cursor)
        else:
            page = await self._call(self._store.tasks, wanted, AT_ONCE, change.cursor)
        reason = f"{_DONE[change.verb]} with others by {change.who} on the web, from {change.origin}"
        changed, refused = await self.carry_out(change.verb, page.tasks, reason)
        refused += len(page.unreadable)
        return change.after(changed=changed, refused=refused, searched=page.searched, cursor=page.cursor)

    async def carry_out(self, verb: BulkVerb, tasks: Sequence[TaskRecord], reason: str) -> tuple[int, int]:
        """Change these tasks; how many were changed and refused. One that was retried before is neither."""
        match verb:
            case BulkVerb.REMOVE:
                ids = [task.task_id for task in tasks]
                removed = await self._call(self._store.forget_tasks, ids) if ids else 0
                return removed, len(ids) - removed
            case BulkVerb.CANCEL:
                return await _each(tasks, lambda task: self._cancel(task, reason))
            case BulkVerb.RETRY:
                fresh = [task for task in tasks if not task.retried_as]
                return await _each(fresh, lambda task: self._retry(task, reason))

    async def _cancel(self, task: TaskRecord, reason: str) -> bool:
        return await self._call(self._store.cancel, task.task_id, reason) == State.CANCELED

    async def _retry(self, task: TaskRecord, reason: str) -> bool:
        return (await self._call(self._store.retry, task.task_id, reason)).word in tuple(Retried)


async def _each(tasks: Sequence[TaskRecord], change: Callable[[TaskRecord], Awaitable[bool]]) -> tuple[int, int]:
    changed = sum([await change(task) for task in tasks])
    return changed, len(tasks) - changed


_DONE = {BulkVerb.CANCEL: "canceled", BulkVerb.RETRY: "retried", BulkVerb.REMOVE: "removed"}
