"""Suspects that may start now are counted after each promotion and recovery, and at least every second."""

from __future__ import annotations

from collections.abc import Sequence

import anyio

from holdfast.broker.port import StewardStore
from holdfastd.steward.duty import Duty

EVERY = 1.0  # seconds


class Suspects:
    """`lanes`: those that are served here."""

    def __init__(self, store: StewardStore, lanes: Sequence[str]) -> None:
        self._store = store
        self._lanes = lanes
        self._changed = anyio.Event()

    def duty(self) -> Duty:
        return Duty("suspects", self.turn, self._rest)

    def look(self) -> None:
        """A task may have become a suspect, or may start now: do not wait for the next second."""
        self._changed.set()

    async def turn(self) -> float:
        self._changed = anyio.Event()
        await self._store.suspects(self._lanes)
        return EVERY

    async def _rest(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._changed.wait()
