"""Ends tasks that have waited too long for a handler that no worker has, as dead letters."""

from __future__ import annotations

import structlog

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty

BATCH = 200  # gates, and tasks of each: some milliseconds of the store
EVERY = 1.0  # seconds

_log = structlog.get_logger("holdfast.steward")


def unserved_tasks(store: StewardStore, timeout: float) -> Duty:
    """`timeout`: the seconds that such a task waits."""

    async def run_once() -> float:
        if ended := await store.unserved(round(timeout * 1000), BATCH):
            _log.warning("tasks became dead letters: no worker has their handler", tasks=ended, seconds=timeout)
        return EVERY

    return Duty("unserved tasks", run_once)
