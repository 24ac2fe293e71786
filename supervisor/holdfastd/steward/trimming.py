"""Trimming: tasks that ended long ago are deleted, a few at a time."""

from __future__ import annotations

from holdfast.broker.port import StewardStore
from holdfastd.steward.duty import Duty

BATCH = 100  # some milliseconds of the store
EVERY = 30.0  # seconds
NEXT_BATCH = 0.02  # seconds: others shall not wait for a backlog of old tasks


def trimming(store: StewardStore, keep: float) -> Duty:
    """`keep`: seconds for which ended tasks are kept."""

    async def turn() -> float:
        trimmed = await store.trim(round(keep * 1000), BATCH)
        return NEXT_BATCH if trimmed >= BATCH else EVERY

    return Duty("trimming", turn)
