"""Tasks for handlers that no worker has: those that have waited too long are ended, as dead letters."""

from __future__ import annotations

import structlog

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty

BATCH = 200  # gates, and tasks of each: some milliseconds of the store
EVERY = 1.0  # seconds

_log = structlog.get_logger("holdfast.steward")


def unserved(store: StewardStore, timeout: float) -> Duty:
    """`timeout`: seconds that such a task waits."""

    async def turn() -> float:
        if ended := await store.unserved(round(timeout * 1000), BATCH):
            _log.warning("tasks were given up: no worker has their handler", tasks=ended, seconds=timeout)
        return EVERY

    return Duty("unserved", turn)
