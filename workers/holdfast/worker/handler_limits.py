"""Limits how many tasks of one handler run at once: a task begins, waits here for a place, or is deferred.

A worker cannot choose what it claims, so it may hold more tasks of such a handler than may run. A few wait here for
the next place, so that none is left empty; as they take slots that others could use, they are at most a quarter of all.
Each of the rest is deferred: given back uncharged, due again about when its turn should come, at most LONGEST later.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import anyio

SHORTEST, LONGEST = 0.05, 30.0  # seconds until a deferred task is due again
FIRST_GUESS = 0.1  # seconds that a run takes, until one has ended
NEWEST = 0.2  # the weight of the last run in the mean


@dataclass(slots=True)
class HandlerLimit:
    """The places of one handler. Times are seconds of `clock`."""

    places: int
    clock: Callable[[], float]
    begun: list[float] = field(default_factory=list[float])
    _free: anyio.Semaphore = field(init=False)
    _mean: float = FIRST_GUESS
    _reserved_until: float = 0.0

    def __post_init__(self) -> None:
        self._free = anyio.Semaphore(self.places, fast_acquire=True)

    @property
    def is_full(self) -> bool:
        return self._free.value == 0

    def seconds_to_turn(self) -> float:
        """Seconds until a task that cannot wait here should try again: each one has its place behind the one before."""
        now = self.clock()
        longest = max((now - moment for moment in self.begun), default=0.0)
        ahead = max(now, self._reserved_until) + max(self._mean, longest) / self.places
        self._reserved_until = min(ahead, now + LONGEST)
        return max(SHORTEST, self._reserved_until - now)

    @asynccontextmanager
    async def place(self) -> AsyncGenerator[None, None]:
        """A place, once there is one."""
        async with self._free:
            begun = self.clock()
            self.begun.append(begun)
            try:
                yield
            finally:
                self.begun.remove(begun)
                self._mean += NEWEST * (self.clock() - begun - self._mean)


@dataclass(slots=True)
class HandlerLimits:
    """The limits of one worker that runs `slots` tasks at once."""

    slots: int
    clock: Callable[[], float]
    _limits: dict[str, HandlerLimit] = field(default_factory=dict[str, HandlerLimit])
    _waiting: int = 0

    def of(self, name: str, places: int) -> HandlerLimit:
        return self._limits.setdefault(name, HandlerLimit(places, self.clock))

    def may_wait(self) -> bool:
        return self._waiting < self.slots // 4

    @asynccontextmanager
    async def enter(self, limit: HandlerLimit) -> AsyncGenerator[None, None]:
        """Wait for a place of this handler, and have it; if it is full, ask `may_wait` before."""
        self._waiting += 1
        waiting = True
        try:
            async with limit.place():
                self._waiting -= 1
                waiting = False
                yield
        finally:
            self._waiting -= waiting
