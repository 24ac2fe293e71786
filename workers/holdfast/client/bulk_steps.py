"""Carries out bulk changes, step by step: each finds some tasks and changes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.bulk_changes import BulkChange, BulkVerb
from holdfast.core.task_search import TextSearch, as_it_is
from holdfast.core.task_states import State
from holdfast.core.tasks import Page, Retried, TaskRecord, Wanted
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
        page = await self.found(wanted, change.text, AT_ONCE, change.cursor)
        changed, refused = await self.carry_out(change.verb, page.tasks, change.task_reason)
        refused += len(page.unreadable)
        return change.after(changed=changed, refused=refused, searched=page.searched, cursor=page.cursor)

    async def noted_step(self, change: BulkChange) -> tuple[BulkChange, bool]:
        """The change after one more step, which is written down; False: nothing is to follow."""
        after = await self.step(change)
        return after, await self._store.note_bulk(change, after)

    async def found(self, wanted: Wanted, text: str, limit: int, cursor: str) -> Page:
        """The next page of the tasks of a filter."""
        if not text:
            return await self._call(self._store.tasks, wanted, limit, cursor)
        return await self._call(self._store.search, wanted, TextSearch(text, self._shown), limit, cursor)

    async def carry_out(self, verb: BulkVerb, tasks: Sequence[TaskRecord], reason: str) -> tuple[int, int]:
        """Change these tasks; how many were changed and refused. One that was retried before is neither."""
        match verb:
            case BulkVerb.REMOVE:
                ids = [task.task_id for task in tasks]
                removed = await self._call(self._store.forget_tasks, ids) if ids else 0
                return removed, len(ids) - removed
            case BulkVerb.CANCEL:
                canceled = [await self._cancel(task, reason) for task in tasks]
                return canceled.count(True), canceled.count(False)
            case BulkVerb.RETRY:
                retried = [await self._retry(task, reason) for task in tasks]
                return retried.count(True), retried.count(False)

    async def _cancel(self, task: TaskRecord, reason: str) -> bool:
        return await self._call(self._store.cancel, task.task_id, reason) == State.CANCELED

    async def _retry(self, task: TaskRecord, reason: str) -> bool | None:
        """None: it was retried before."""
        word = (await self._call(self._store.retry, task.task_id, reason)).word
        return None if word == Retried.AGAIN else word in tuple(Retried)
