"""Bells: for producers that only push, the steward sees a lane fill and rings for the workers.

While a lane is empty it blocks in `peek`. While it is not, workers find what is left by themselves, and the steward
only looks now and then whether a bell was lost: soon at first, then ever more rarely. Where entries wait it also looks
whether somebody pushes at the end that is served. Each lane that it blocks on takes
a connection, so there is a limit to those; the lanes beyond it are looked at in one call every 200 ms.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import anyio

from holdfast.store.protocol import MOST_PEEKS, StewardStore
from holdfastd.steward.duties.wrong_end import WrongEnd
from holdfastd.steward.duty import Duty

PEEK_FOR = 15.0  # seconds: what a wait on a connection that died without a word costs at most
FIRST_PAUSE, LAST_PAUSE = 0.002, 0.2  # seconds
LOOKED_AT_ONCE = 500  # lanes: one or two milliseconds of the server


def bells(store: StewardStore, lanes: Sequence[str]) -> Iterator[Duty]:
    """The duties for these lanes."""
    for lane in lanes[:MOST_PEEKS]:
        yield Bell(store, lane).duty()
    if lanes[MOST_PEEKS:]:
        yield looks(store, lanes[MOST_PEEKS:])


def looks(store: StewardStore, lanes: Sequence[str]) -> Duty:
    """Look at all of these, and ring for those that hold anything."""

    async def turn() -> float:
        for first in range(0, len(lanes), LOOKED_AT_ONCE):
            await store.ring(*lanes[first : first + LOOKED_AT_ONCE])
        return LAST_PAUSE

    return Duty(f"bells of {len(lanes)} lanes", turn)


class Bell:
    def __init__(self, store: StewardStore, lane: str) -> None:
        self._store = store
        self._lane = lane
        self._pause = FIRST_PAUSE
        self._empty = True
        self._wrong_end = WrongEnd(store, lane)

    def duty(self) -> Duty:
        return Duty(f"bell of {self._lane}", self.turn, self.rest)

    async def turn(self) -> float:
        """Look once, and ring if there is anything; the seconds until the next look, 0 to wait for an entry."""
        self._empty = await self._store.ring(self._lane) == 0
        if self._empty:
            self._pause = FIRST_PAUSE
            return 0.0
        pause = self._pause
        if pause == LAST_PAUSE:  # they wait: nobody takes them as they come
            await self._wrong_end.look()
        self._pause = min(2 * pause, LAST_PAUSE)
        return pause

    async def rest(self, seconds: float) -> None:
        if self._empty:
            await self._store.peek(self._lane, PEEK_FOR)
        else:
            await anyio.sleep(seconds)
