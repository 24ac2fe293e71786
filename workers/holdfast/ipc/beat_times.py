"""The moments at which the processes of a host report: all at the same, so that the parent wakes once for many."""

from __future__ import annotations

INTERVAL = 1.0  # seconds
TOGETHER = 16  # workers; more at a moment would keep all processors busy
GROUPS = 10


def until_next(now: float, slot: int = 0) -> float:
    """Seconds until the next report, a quarter of the interval at least; `now` is monotonic, and so the same in all
    processes of the host. Workers beyond the first ones report at other moments."""
    phase = slot // TOGETHER % GROUPS / GROUPS * INTERVAL
    left = INTERVAL - (now - phase) % INTERVAL
    return left if left > INTERVAL / 4 else left + INTERVAL
