"""A worker by hand: it pulls, and settles what it pulled as completed, without running anything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bench.producing import QUEUE
from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.worker_records import Introduction

if TYPE_CHECKING:
    from holdfast.store import Store

INCARNATION = "0123456789abcdef" * 2
RESULT = b'{"words": 3}'


class Hand:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._request = 0
        self.held: list[Delivery] = []

    async def register(self) -> None:
        await self._store.register(Introduction(INCARNATION, "bench", "boot", 1, 0))

    async def pull(self, slots: int, settle: int = 0) -> int:
        """Settle so many of what it holds, and claim up to `slots`; how many it holds then."""
        self._request += 1
        done, self.held = self.held[:settle], self.held[settle:]
        outcomes = [Settlement(delivery.task_id, delivery.claim, Settle.COMPLETED, RESULT) for delivery in done]
        pulled = await self._store.pull(INCARNATION, self._request, slots, [QUEUE], outcomes)
        self.held += pulled.deliveries
        return len(self.held)

    async def renew(self) -> None:
        await self._store.renew(INCARNATION, "live", self._request, [])
