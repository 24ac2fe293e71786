"""Reads what the store answers page by page: the recorded steps of a task, and the results of its parents."""

from __future__ import annotations

from holdfast.core.outcomes import MOST_PARENT_BYTES, ParentResult
from holdfast.core.steps import StepHead, StepRecord
from holdfast.store.protocol import TaskStore


async def recorded_steps(store: TaskStore, task_id: str) -> list[StepRecord]:
    """All steps of the task, in the order of their places."""
    steps, following = await store.steps(task_id)
    found = list(steps)
    while following is not None:
        steps, following = await store.steps(task_id, following)
        found += steps
    return found


async def step_names(store: TaskStore, task_id: str) -> list[StepHead]:
    """The names of all steps of the task, in the order of their places."""
    steps, following = await store.step_names(task_id)
    found = list(steps)
    while following is not None:
        steps, following = await store.step_names(task_id, following)
        found += steps
    return found


async def results_of_parents(
    store: TaskStore, task_id: str, most_bytes: int = MOST_PARENT_BYTES
) -> dict[str, ParentResult]:
    """The parents of the task in the order of `after`. Results are read up to `most_bytes` in all; later parents have
    none."""
    found, left = dict[str, ParentResult](), most_bytes
    following: int | None = 1
    while following is not None:
        page, following = await store.parents(task_id, following, results=left > 0)
        for parent in page:
            left -= parent.size
            found[parent.task_id] = parent
    return found
