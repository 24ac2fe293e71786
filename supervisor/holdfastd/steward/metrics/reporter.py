"""Reporter holds the duty to report the queue: one steward of all hosts has it, by a lease kept in the store.

A steward asks for it when it is scraped, and renews it while it is scraped now and then. Without scrapes nothing is
done; after the death of a steward the lease ends and the next one that is scraped takes over.
"""

from __future__ import annotations

from collections.abc import Callable
from uuid import uuid4

import anyio

from holdfast.store.protocol import MetricsStore
from holdfastd.steward.duty import Duty

LEASE = 10.0  # seconds
RENEW_EVERY = 3.0  # seconds
SCRAPED_WITHIN = 300.0  # seconds: a steward that was not scraped for so long gives the duty up
GIVE_UP_WITHIN = 0.5  # seconds


class Reporter:
    """`clock`: monotonic seconds."""

    def __init__(self, store: MetricsStore, clock: Callable[[], float]) -> None:
        self._store = store
        self._clock = clock
        self._id = uuid4().hex
        self._held_until = self._wanted_until = float("-inf")
        self._scraped = anyio.Event()

    @property
    def has_duty(self) -> bool:
        return self._clock() < self._held_until

    async def ask(self) -> bool:
        """Called at each scrape: True if this steward reports the queue now."""
        self._wanted_until = self._clock() + SCRAPED_WITHIN
        self._scraped.set()
        if not self.has_duty:
            await self._take()
        return self.has_duty

    def duty(self) -> Duty:
        return Duty("report of the queue", self.run_once, self.wait)

    async def run_once(self) -> float:
        if self._clock() < self._wanted_until:
            await self._take()
        else:
            await self._give_up()
        return RENEW_EVERY

    async def wait(self, seconds: float) -> None:
        if self._clock() < self._wanted_until:
            await anyio.sleep(seconds)
        else:
            self._scraped = anyio.Event()
            await self._scraped.wait()

    async def leave(self) -> None:
        """Let another steward take over at once."""
        with anyio.move_on_after(GIVE_UP_WITHIN, shield=True):
            await self._give_up()

    async def _take(self) -> None:
        asked_at = self._clock()
        taken = await self._store.report_duty(self._id, round(LEASE * 1000))
        self._held_until = asked_at + LEASE if taken else float("-inf")

    async def _give_up(self) -> None:
        if self.has_duty:
            self._held_until = float("-inf")
            await self._store.report_duty(self._id, 0)
