"""Random faults between a host, or the clients, and the store: some requests and answers are held, cut or lost."""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import anyio.to_thread

from tests.faults.proxy import Action, Proxy, Rule
from tests.faults.proxy.resp import Request


class RandomFaults(Rule):
    """Each request, whatever it asks, meets the action with this chance."""

    def __init__(self, action: Action, chance: float, dice: random.Random) -> None:
        super().__init__("any", action)
        self._chance, self._dice = chance, dice
        self.accidents = 0

    def meets(self, request: Request) -> bool:
        met = not self.released and self._dice.random() < self._chance
        self.accidents += met
        return met


@asynccontextmanager
async def random_faults(
    proxy: Proxy, action: Action, chance: float, dice: random.Random
) -> AsyncGenerator[RandomFaults]:
    """Until the block ends; what was held arrives then."""
    found = RandomFaults(action, chance, random.Random(dice.random()))
    proxy.add(found)
    try:
        yield found
    finally:
        proxy.drop(found)


@asynccontextmanager
async def cut_off(proxy: Proxy) -> AsyncGenerator[None]:
    """No connection carries anything, ends included, until the block ends."""
    await anyio.to_thread.run_sync(proxy.cut_off)
    try:
        yield
    finally:
        proxy.heal()
