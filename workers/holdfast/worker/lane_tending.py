"""Tends lanes: what was pushed to a lane from which nobody takes entries is heard, and stale entries go.

A steward tends the lanes of its pool. Where no steward vouches for a worker, that worker does it.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from holdfast.store.protocol import StewardStore

EVERY = 1.0  # seconds: so long an order may stay unheard
NEXT_STEP = 0.01  # seconds: many stale entries must not delay other clients


async def tend(store: StewardStore, lanes: Sequence[str]) -> None:
    """Tend these lanes once, in as many calls as that takes: one where little is to be done."""
    rest = lanes
    while rest:
        tended = await store.tend(rest)
        if rest := rest[tended.lanes :]:
            await anyio.sleep(NEXT_STEP)
