"""Lane tending carries out pushed orders (cancel, pause, resume) that wait in lanes, and removes stale entries."""

from __future__ import annotations

from collections.abc import Sequence

from holdfast.client.lane_tending import EVERY, tend
from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty


def lane_tending(store: StewardStore, lanes: Sequence[str]) -> Duty:
    """Workers take entries as slots free. An order must not wait for that."""

    async def run_once() -> float:
        await tend(store, lanes)
        return EVERY

    return Duty("lane tending", run_once)
