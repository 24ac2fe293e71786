"""Acts on dead letters, the tasks that failed for good. The act that retries one of them is `tasks.RETRY_TASK`."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Annotated, TypedDict

import msgspec
from msgspec import Meta

from holdfast.client.manager import TaskManager
from holdfast.client.task_filter import Age, OfError, OfHandler, age_ms
from holdfast.core.task_states import State
from holdfast.core.tasks import Page, TaskRecord
from holdfast.errors import CannotRetryError, UnknownTaskError
from holdfast.store import Store
from holdfastd.operations.act import Act, Doing, Purged, Reason
from holdfastd.operations.tasks import ChosenTask, ReasonedTask, RemovedTask, RetriedTask, retry_task

PAGE = 100  # dead letters read or deleted at once

FailedAgo = Annotated[Age, Meta(description="Only tasks that failed at least this long ago: 90s, 5m, 7d.")]


class RemoveAllDead(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The filter of the dead letters to delete."""

    name: OfHandler = None
    error: OfError = None
    older: FailedAgo = None


class RetryAllDead(RemoveAllDead, forbid_unknown_fields=True, frozen=True):
    """The filter of the dead letters to retry, and the reason."""

    reason: Reason = ""


class RetriedDead(TypedDict):
    """`retried`: the dead letters that run again. `refused`: the other dead letters: for each id a sentence that says
    why it was not retried."""

    retried: list[RetriedTask]
    refused: dict[str, str]


async def remove_dead(doing: Doing, given: ChosenTask) -> RemovedTask:
    """Delete a dead letter with all its data."""
    if not await doing.manager.purge_dead_letters([given.task_id]):
        raise UnknownTaskError(f"no dead letter {given.task_id}")
    return {"task_id": given.task_id, "removed": True}


async def retry_all_dead(doing: Doing, given: RetryAllDead) -> RetriedDead:
    """Run all dead letters again, or those of a handler, a kind of error or some age, each as a new task."""
    retried, refused = list[RetriedTask](), dict[str, str]()
    for task_id in await _chosen(doing, given):
        try:
            retried.append(await retry_task(doing, ReasonedTask(task_id, given.reason)))
            doing.step(len(retried))
        except (CannotRetryError, UnknownTaskError) as error:
            refused[task_id] = str(error)
    doing.asked.outcome = f"{len(retried)} of {len(retried) + len(refused)} run again"
    doing.asked.refusal = f"{doing.asked.outcome}: {'; '.join(refused.values())}" if refused else ""
    return {"retried": retried, "refused": refused}


async def remove_all_dead(doing: Doing, given: RemoveAllDead) -> Purged:
    """Delete all dead letters, or those of a handler, a kind of error or some age, with all their data."""
    ids, purged = await _chosen(doing, given), 0
    for start in range(0, len(ids), PAGE):
        purged += await doing.manager.purge_dead_letters(ids[start : start + PAGE])
        doing.step(purged)
    return {"purged": purged}


async def _chosen(doing: Doing, given: RemoveAllDead) -> list[str]:
    """The ids of the chosen dead letters. All are read before the first is changed: a change would shift the pages."""
    before_ms = await doing.call(failed_before, doing.store, given.older)
    letters = dead_letters(doing.manager, given.name, before_ms, given.error)
    found = list(dict.fromkeys([task.task_id async for task in letters]))
    if not found:
        await doing.hint(given)
    return found


async def failed_before(store: Store, older: Age) -> int | None:
    """The Unix time (milliseconds) before which tasks of this age have failed; None for any age. Raises
    InvalidTaskError."""
    age = age_ms("older", older)
    return None if age is None else max(0, await store.clock_ms() - age)


async def dead_letters(
    manager: TaskManager, name: str | None, before_ms: int | None, error: str | None = None
) -> AsyncIterator[TaskRecord]:
    """Read dead letters page by page, newest first. `name`: only this handler; `error`: only this kind of error;
    `before_ms`: only tasks that failed before this Unix time. Raises InvalidTaskError."""
    cursor = ""
    while True:
        page = await dead_page(manager, PAGE, cursor, before_ms, error)
        for task in page.tasks:
            if name in (None, task.name):
                yield task
        cursor = page.cursor
        if not cursor:
            return


async def dead_page(manager: TaskManager, limit: int, cursor: str, before_ms: int | None, error: str | None) -> Page:
    """A page of dead letters, newest first. With `error`, only of this kind of error: a page may hold fewer tasks than
    `limit`, even none, and others may follow. Raises InvalidTaskError."""
    if error is None:
        return await manager.dead_letters(limit, cursor, before_ms)
    page = await manager.list_tasks(State.FAILED, error=error, limit=limit, cursor=cursor, newest_first=True)
    found = [task for task in page.tasks if task.dead and (before_ms is None or (task.finished_ms or 0) <= before_ms)]
    return replace(page, tasks=tuple(found))


REMOVE_DEAD = Act("dead/remove", ChosenTask, remove_dead, "task_id")
REMOVE_ALL_DEAD = Act("dead/remove-all", RemoveAllDead, remove_all_dead)
RETRY_ALL_DEAD = Act("dead/retry-all", RetryAllDead, retry_all_dead)
