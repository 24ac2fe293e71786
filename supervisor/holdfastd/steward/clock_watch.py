"""ClockWatch compares the store's clock with this host's clocks, because the store measures leases and ages of tasks by
its own clock."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from holdfast.store import Store
from holdfastd.steward.duty import Health

# These functions decide from two samples of the store's clock whether leases and ages can be trusted. They do no I/O.
#
# The store measures a lease by its own clock, and heartbeats that reach the store renew the lease. If the clock jumps,
# or the store was away, all healthy workers look silent at once. Then no worker is declared dead for one whole lease:
# all workers get this time to report again. The store measures ages by the same clock. While the clock is ahead, tasks
# that have just ended look old.

LEAST_TOLERANCE = 0.5  # seconds
SETTLING = 3600.0  # seconds after which a clock that was set forward counts as correct
APART = 60.0  # seconds by which clocks of hosts may differ normally


@dataclass(frozen=True, slots=True)
class ClockSample:
    """One reading of the store's clock. `at`: when it was read (monotonic seconds); `took`: seconds that the answer
    took; `run_id`: id of the store's server process; `outages`: the count of Health before the reading."""

    at: float
    took: float
    clock_ms: int
    run_id: str
    outages: int


def tolerance(lease: float) -> float:
    """The number of seconds by which the clocks may move apart, or by which an answer may be late, before leases count
    as doubtful."""
    return max(LEAST_TOLERANCE, lease / 10)


def doubt(before: ClockSample | None, now: ClockSample, tolerance: float) -> str:
    """The reason why leases cannot be trusted at the sample `now`; empty if they can."""
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
    """Seconds by which the store's clock moved ahead of this process's clock between two samples. The number is
    negative if the store's clock fell behind, and 0 within the tolerance."""
    moved = (now.clock_ms - before.clock_ms) / 1000 - (now.at - before.at)
    return moved if abs(moved) > tolerance else 0.0


def ahead(first: ClockSample, wall: float) -> float:
    """Seconds by which the store's clock is ahead of this host's at the first sample; 0 if it is at most APART ahead.
    `wall`: this host's clock in Unix seconds."""
    apart = first.clock_ms / 1000 - wall
    return apart if apart > APART else 0.0


_log = structlog.get_logger("holdfast.steward")


@dataclass(slots=True)
class ClockWatch:
    """Tells a duty whether it may recover workers by lease (`leases_hold`) or delete tasks by age (`ages_hold`) now.

    `lease` is in seconds, `clock` monotonic. `wall` is this host's time of day: by it a new steward learns that the
    store's clock was set forward before the steward started."""

    store: Store
    health: Health
    lease: float
    clock: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time
    _before: ClockSample | None = None
    _leases_from: float = 0.0
    _ahead: float = 0.0
    _settled_at: float = 0.0

    async def leases_hold(self) -> bool:
        """True if workers whose lease has expired may be declared dead now."""
        return (await self._look()).at >= self._leases_from

    async def ages_hold(self) -> bool:
        """True if tasks may be deleted by age now."""
        return (await self._look()).at >= self._settled_at

    async def _look(self) -> ClockSample:
        look, slack, before = await self._read(), tolerance(self.lease), self._before
        if reason := doubt(before, look, slack):
            _log.debug("expired leases are ignored for the length of one lease", reason=reason, seconds=self.lease)
            self._leases_from = look.at + self.lease
        if moved := ahead(look, self.wall()) if before is None else jump(before, look, slack):
            self._note_jump(look.at, moved, slack)
        self._before = look
        return look

    def _note_jump(self, at: float, moved: float, slack: float) -> None:
        self._ahead += moved
        self._settled_at = at + SETTLING if self._ahead > slack else 0.0
        if self._settled_at:
            words = "the store's clock was set forward: ended tasks are not deleted for up to an hour"
            _log.warning(words, seconds=round(moved, 1))

    async def _read(self) -> ClockSample:
        outages, began = self.health.outages, self.clock()
        run_id = await self.store.run_id()
        clock_ms = await self.store.clock_ms()
        at = self.clock()
        return ClockSample(at, at - began, clock_ms, run_id, outages)
