"""Fires schedules when they are due; the first steward to do so makes the fire."""

from __future__ import annotations

import anyio

from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.core.quiet_hosts import HaltScope
from holdfast.store.protocol import ScheduleStore
from holdfast.telemetry.port import FireSpans
from holdfastd.steward.duty import Duty
from holdfastd.steward.punctual_wait import punctual

HALTED_REST = 1.0  # seconds


def schedule_fires(
    store: ScheduleStore,
    queue: str,
    max_bytes: int,
    scan_interval: float,
    scope: HaltScope | None = None,
    spans: FireSpans | None = None,
) -> Duty:
    """`scan_interval`: the longest wait in seconds, in case an alarm is lost. During the halts of `scope` it makes no
    fires, and leaves the alarm to other stewards."""
    firing = ScheduleFirer(store, queue, max_bytes, scope=scope, spans=spans)
    wait_for_fires = punctual(store.wait_fires)

    async def run_once() -> float:
        following = await firing.round()
        if firing.halted:
            return HALTED_REST
        return scan_interval if following is None else min(following, scan_interval)

    async def wait(seconds: float) -> None:
        await (anyio.sleep(seconds) if firing.halted else wait_for_fires(seconds))

    return Duty("schedules", run_once, wait)
