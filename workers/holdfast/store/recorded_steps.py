"""Reads all recorded steps of a task, page by page."""

from __future__ import annotations

from holdfast.core.steps import StepRecord
from holdfast.store.protocol import TaskStore


async def recorded_steps(store: TaskStore, task_id: str) -> list[StepRecord]:
    """All steps of the task, in the order of their places."""
    steps, following = await store.steps(task_id)
    found = list(steps)
    while following is not None:
        steps, following = await store.steps(task_id, following)
        found += steps
    return found
