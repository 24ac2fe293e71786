"""Renews the leases of this parent's workers until the parent reports them dead, however silent a worker is."""

from __future__ import annotations

import anyio

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.roster import WorkerRoster

ROUNDS_PER_LEASE = 3


def lease_renewal(store: StewardStore, roster: WorkerRoster, lease: float) -> Duty:
    """`lease` in seconds."""

    async def run_once() -> float:
        if roster.living:
            await store.vouch(roster.living)
        return lease / ROUNDS_PER_LEASE

    async def wait(seconds: float) -> None:
        """A new steward learns of its workers a moment after its start, and renews their leases then."""
        await (anyio.sleep(seconds) if roster.living else roster.wait_for_change(seconds))

    return Duty("lease renewal", run_once, wait)
