"""Wakes the parts of a worker when its state changes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio.lowlevel


def _always() -> bool:
    return True


@dataclass(slots=True)
class Changes:
    """The events are asyncio's, as one of anyio's costs several times as much to make, and a busy worker makes many.

    Conditions are read when a change is announced, and only a part whose condition is true is woken: that costs a
    busy worker far less than to wake every part each time."""

    _waiting: dict[asyncio.Event, Callable[[], bool]] = field(default_factory=dict[asyncio.Event, Callable[[], bool]])

    def announce(self) -> None:
        """The state has changed."""
        for event, condition in self._waiting.items():
            if condition():
                event.set()

    async def next(self, condition: Callable[[], bool] = _always) -> None:
        """Wait for the next change that finds this condition true."""
        event = asyncio.Event()
        self._waiting[event] = condition
        try:
            await event.wait()
        finally:
            del self._waiting[event]

    async def until(self, condition: Callable[[], bool]) -> None:
        """Wait until this condition is true. If it is, others run first all the same, as in every wait of anyio."""
        if condition():
            await anyio.lowlevel.checkpoint()
        while not condition():
            await self.next(condition)
