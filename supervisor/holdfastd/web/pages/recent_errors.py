"""The last tasks that failed in a period, a bounded number, with their errors in groups."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord, Wanted
from holdfast.store.protocol import Store
from holdfastd.web.queue.queue_access import QueueAccess
from holdfastd.web.views.error_groups import ErrorGroup, error_groups

MOST = 100  # tasks whose errors are read
MOST_STEPS = 5  # of the store, some milliseconds each
MOST_BYTES = 32_768  # of a result that is read
FAILED = (State.FAILED, State.REJECTED)


@dataclass(frozen=True, slots=True)
class RecentErrors:
    """`read`: the number of tasks whose errors were read; `is_all`: there were no more in the period."""

    groups: list[ErrorGroup]
    read: int
    is_all: bool


async def recent_errors(access: QueueAccess, since_ms: int, name: str | None = None) -> RecentErrors:
    """Of one handler, or of all: from the index of ended tasks and that of dead letters, the newest first."""
    store = access.store
    tasks, is_whole = await _failed(store, since_ms, name)
    letters = await store.dead_letters(MOST)
    found = {task.task_id: task for task in (*tasks, *letters.tasks) if name is None or task.name == name}
    recent = [task for task in found.values() if _ended(task) >= since_ms]
    newest = sorted(recent, key=_ended, reverse=True)[:MOST]
    results = await store.small_results([task.task_id for task in newest], MOST_BYTES)
    older = len(found) > len(recent)  # the lists went back beyond the period
    is_all = len(recent) <= MOST and (older or (is_whole and not letters.cursor))
    return RecentErrors(error_groups(newest, results), len(newest), is_all)


async def _failed(store: Store, since_ms: int, name: str | None) -> tuple[list[TaskRecord], bool]:
    """The last tasks that failed, and whether there are no more in the period: each step of the store looks at a
    bounded number of ended tasks."""
    tasks, cursor = list[TaskRecord](), ""
    for _ in range(MOST_STEPS):
        page = await store.tasks(Wanted(states=FAILED, name=name or ""), MOST - len(tasks), cursor)
        tasks, cursor = [*tasks, *page.tasks], page.cursor
        if not cursor or len(tasks) == MOST or (tasks and _ended(tasks[-1]) < since_ms):
            break
    return tasks, not cursor


def _ended(task: TaskRecord) -> int:
    return task.finished_ms or task.created_ms
