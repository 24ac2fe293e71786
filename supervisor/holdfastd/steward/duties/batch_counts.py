"""Batch counts: tasks of open batches whose end was not counted are counted by their records.

Somebody has deleted such a record, or what the task was tied to.
"""

from __future__ import annotations

import structlog

from holdfast.store.protocol import BatchStore
from holdfastd.steward.duty import Duty

TASKS = 100  # looked at in one call: a fraction of a millisecond of the store
NEXT_PAGE = 0.02  # seconds: a large batch must not delay other clients
LONGEST_REST = 10.0  # seconds

_log = structlog.get_logger("holdfast.steward")


def batch_counts(store: BatchStore) -> Duty:
    async def run_once() -> float:
        ends, wait_ms = await store.look_at_batches(TASKS)
        if ends:
            _log.info("tasks of a batch whose end had not been counted were counted", tasks=ends)
        return LONGEST_REST if wait_ms is None else min(LONGEST_REST, max(NEXT_PAGE, wait_ms / 1000))

    return Duty("batch counts", run_once)
