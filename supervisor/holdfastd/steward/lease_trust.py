"""Whether leases, and ages, may be believed: pure, a function of two looks at the store.

A lease is measured by the store's clock and kept by heartbeats that must reach it. Where either was disturbed every
healthy worker looks silent at once, so nobody is declared dead until they had a whole lease to be heard again. Ages are
measured by the same clock: while it is ahead of where it should be, what has ended just now looks old.
"""

from __future__ import annotations

from dataclasses import dataclass

LEAST_TOLERANCE = 0.5  # seconds
SETTLING = 3600.0  # seconds after which a clock that was set forward and not back is taken to be right
APART = 60.0  # seconds by which the clocks of hosts may differ without that one of them was set


@dataclass(frozen=True, slots=True)
class ClockSample:
    """The store's clock (ms) as it was read at `at` (monotonic seconds), `took` seconds long."""

    at: float
    took: float
    clock_ms: int
    run_id: str
    outages: int


def tolerance(lease: float) -> float:
    """Seconds by which clocks and answers may be late before leases are doubted."""
    return max(LEAST_TOLERANCE, lease / 10)


def doubt(before: ClockSample | None, now: ClockSample, tolerance: float) -> str:
    """Why leases are not to be believed after `now`, or empty."""
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
    """Seconds by which the store's clock has moved ahead of ours between two looks; 0 within the tolerance."""
    moved = (now.clock_ms - before.clock_ms) / 1000 - (now.at - before.at)
    return moved if abs(moved) > tolerance else 0.0


def ahead(first: ClockSample, wall: float) -> float:
    """Seconds by which the store's clock is ahead of this host's (Unix seconds) at the first look; 0 if not by much."""
    apart = first.clock_ms / 1000 - wall
    return apart if apart > APART else 0.0
