"""Vouching: while the parent has not reported a worker dead, its lease holds, however silent the worker is."""

from __future__ import annotations

import anyio

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.roster import WorkerRoster

ROUNDS_PER_LEASE = 3


def vouching(store: StewardStore, family: WorkerRoster, lease: float) -> Duty:
    """`lease` in seconds."""

    async def turn() -> float:
        if family.living:
            await store.vouch(family.living)
        return lease / ROUNDS_PER_LEASE

    async def rest(seconds: float) -> None:
        """A steward that has just started hears of its family a moment later, and vouches for it then."""
        await (anyio.sleep(seconds) if family.living else family.news(seconds))

    return Duty("vouching", turn, rest)
