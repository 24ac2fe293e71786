"""Tends lanes: carries out orders that were pushed to a lane, even if no worker takes entries from it, and removes
stale entries. A steward tends the lanes of its pool. A worker without a steward does it itself.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from holdfast.store import Store

EVERY = 1.0  # seconds: so long an order may stay unheard
NEXT_STEP = 0.01  # seconds: many stale entries must not delay other clients


async def tend(store: Store, lanes: Sequence[str]) -> None:
    """Tend these lanes once. If there is little to do, this takes one call of the store, else more."""
    rest = lanes
    while rest:
        tended = await store.tend(rest)
        if rest := rest[tended.lanes :]:
            await anyio.sleep(NEXT_STEP)
