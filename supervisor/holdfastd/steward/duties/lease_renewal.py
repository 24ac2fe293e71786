"""Renews the leases of this parent's workers until the parent reports them dead, however silent a worker is.

A parent that stands still reports nothing. Then the duty Orphans finds a dead worker by its lock file and recovers it:
the lease holds until that has killed what the worker started, so that no other host runs the tasks beside it.

With them it tells the store the clock and the version of this host: `supervisor doctor` compares hosts by it.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import anyio

from holdfast.core.tasks import HostFacts
from holdfast.store.protocol import StewardStore
from holdfast.version import installed
from holdfastd.steward.duty import Duty
from holdfastd.steward.roster import WorkerRoster

ROUNDS_PER_LEASE = 3


def lease_renewal(
    store: StewardStore, roster: WorkerRoster, lease: float, wall: Callable[[], float] = time.time
) -> Duty:
    """`lease` in seconds; `wall`: this host's time of day."""

    async def run_once() -> float:
        if roster.living:
            await store.vouch(roster.living, HostFacts(round(wall() * 1000), installed()))
        return lease / ROUNDS_PER_LEASE

    async def wait(seconds: float) -> None:
        """A new steward learns of its workers a moment after its start, and renews their leases then."""
        await (anyio.sleep(seconds) if roster.living else roster.wait_for_change(seconds))

    return Duty("lease renewal", run_once, wait)
