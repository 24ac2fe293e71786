"""Decides from two samples of the store's clock if leases and ages can be trusted. Pure.

A lease is measured by the store's clock and renewed by heartbeats that must reach the store. After a disturbance of
either, every healthy worker looks silent at once, so no worker is declared dead until all had a whole lease to report
again. Ages are measured by the same clock: while it is ahead, tasks that have just ended look old.
"""

from __future__ import annotations

from dataclasses import dataclass

LEAST_TOLERANCE = 0.5  # seconds
SETTLING = 3600.0  # seconds after which a clock that was set forward counts as correct
APART = 60.0  # seconds by which clocks of hosts may differ normally


@dataclass(frozen=True, slots=True)
class ClockSample:
    """The store's clock (ms) as it was read at `at` (monotonic seconds), `took` seconds long."""

    at: float
    took: float
    clock_ms: int
    run_id: str
    outages: int


def tolerance(lease: float) -> float:
    """Seconds by which clocks and answers may be late before leases are distrusted."""
    return max(LEAST_TOLERANCE, lease / 10)


def doubt(before: ClockSample | None, now: ClockSample, tolerance: float) -> str:
    """The reason why leases cannot be trusted after `now`, or empty."""
    if before is None:
        return "the steward has just started"
    if now.run_id != before.run_id:
        return "the store was restarted or failed over"
    if now.outages != before.outages:
        return "the store was away"
    if now.took > tolerance:
        return f"the store answered {now.took:.1f} s late"
    moved = jump(before, now, tolerance)
    return f"the clocks moved apart by {moved:.1f} s" if moved else ""


def jump(before: ClockSample, now: ClockSample, tolerance: float) -> float:
    """Seconds by which the store's clock has moved ahead of ours between two samples; 0 within the tolerance."""
    moved = (now.clock_ms - before.clock_ms) / 1000 - (now.at - before.at)
    return moved if abs(moved) > tolerance else 0.0


def ahead(first: ClockSample, wall: float) -> float:
    """Seconds by which the store's clock is ahead of this host's (Unix seconds) at the first sample; 0 if not by
    much."""
    apart = first.clock_ms / 1000 - wall
    return apart if apart > APART else 0.0
