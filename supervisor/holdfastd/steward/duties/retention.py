"""Retention deletes tasks that ended longer ago than they are kept, a few at a time."""

from __future__ import annotations

from holdfast.store.protocol import Store
from holdfastd.steward.clock_watch import ClockWatch
from holdfastd.steward.duty import Duty

BATCH = 100  # some milliseconds of the store
EVERY = 30.0  # seconds
NEXT_BATCH = 0.02  # seconds: a backlog of old tasks must not delay other clients


def retention(store: Store, keep: float, watch: ClockWatch) -> Duty:
    """`keep`: seconds for which ended tasks are kept, by a clock that `watch` trusts."""

    async def run_once() -> float:
        if not await watch.ages_hold():
            return EVERY
        trimmed = await store.trim(round(keep * 1000), BATCH)
        return NEXT_BATCH if trimmed >= BATCH else EVERY

    return Duty("retention", run_once)
