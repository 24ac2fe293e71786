"""Reads all recorded steps of a task, page by page: whole, or their names alone."""

from __future__ import annotations

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
