"""Scheduling: the fires of schedules are made when they are due, by whichever steward comes first."""

from __future__ import annotations

from holdfast.broker.port import ScheduleStore
from holdfast.firing import Firing
from holdfastd.steward.duty import Duty
from holdfastd.steward.punctual import punctual


def scheduling(store: ScheduleStore, queue: str, max_bytes: int, scan_interval: float) -> Duty:
    """`scan_interval`: seconds that it rests at most, which is what a lost alarm costs."""
    firing = Firing(store, queue, max_bytes)

    async def turn() -> float:
        following = await firing.round()
        return scan_interval if following is None else min(following, scan_interval)

    return Duty("scheduling", turn, punctual(store.wait_fires))
