"""Reads the results of a task's parents, page by page."""

from __future__ import annotations

from holdfast.core.outcomes import MOST_PARENT_BYTES, ParentResult
from holdfast.store.protocol import TaskStore


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
