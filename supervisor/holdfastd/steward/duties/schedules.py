"""Scheduling: the fires of schedules are made when they are due, by whichever steward comes first."""

from __future__ import annotations

import anyio

from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.core.quiet_hosts import HaltScope
from holdfast.store.protocol import ScheduleStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.punctual_wait import punctual

HALTED_REST = 1.0  # seconds


def scheduling(
    store: ScheduleStore, queue: str, max_bytes: int, scan_interval: float, scope: HaltScope | None = None
) -> Duty:
    """`scan_interval`: seconds that it rests at most, which is what a lost alarm costs. During the halts of `scope` it
    makes no fires, and leaves the alarm to those who do."""
    firing = ScheduleFirer(store, queue, max_bytes, scope=scope)
    wait = punctual(store.wait_fires)

    async def turn() -> float:
        following = await firing.round()
        if firing.halted:
            return HALTED_REST
        return scan_interval if following is None else min(following, scan_interval)

    async def rest(seconds: float) -> None:
        await (anyio.sleep(seconds) if firing.halted else wait(seconds))

    return Duty("scheduling", turn, rest)
