"""The end of a worker: claim no more, finish, near the deadline cancel, release what is left, leave."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio

from holdfast.ipc.channel import Drain
from holdfast.worker.context import WorkerContext

ANSWER_WITHIN = 2.0  # seconds for the store to answer a worker that holds nothing: what it claims now is put back


@dataclass(slots=True)
class WorkerDrain:
    """Times are CLOCK_MONOTONIC seconds. A later order can only hasten the first."""

    post: WorkerContext
    stop_all: Callable[[str], None]
    _changed: anyio.Event = field(default_factory=anyio.Event)
    _cancel_at: float = float("inf")
    _deadline: float = float("inf")

    def begin(self, order: Drain) -> None:
        self._cancel_at = min(self._cancel_at, order.cancel_at)
        self._deadline = min(self._deadline, order.deadline)
        self.post.draining.set()
        self._changed.set()

    def progressed(self) -> None:
        """Something ended or was settled."""
        self._changed.set()

    async def serve(self) -> None:
        """Returns when, after the order came, nothing is left to do, or the deadline has passed."""
        await self.post.draining.wait()
        await self._until_settled(lambda: self._cancel_at)
        self.stop_all("drain")
        await self._until_settled(lambda: self._deadline)

    async def _until_settled(self, until: Callable[[], float]) -> None:
        idle_at = float("inf")
        while not self.post.exchange.settled:
            now = time.monotonic()
            idle_at = min(idle_at, now + ANSWER_WITHIN) if self.post.exchange.is_idle else float("inf")
            if (left := min(until(), idle_at) - now) <= 0:
                return
            self._changed = anyio.Event()
            with anyio.move_on_after(left):
                await self._changed.wait()
