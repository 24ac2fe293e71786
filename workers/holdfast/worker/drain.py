"""Drains a worker: it claims no more, finishes, cancels handlers near the deadline, and gives back what is left."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from holdfast.ipc.channel import Drain
from holdfast.worker.claims_ahead import ClaimsAhead
from holdfast.worker.context import WorkerContext

LEAST_LEFT = 0.5  # seconds; the parent kills a worker a second after its deadline
ANSWER_TIMEOUT = 2.0  # seconds for the store to answer a worker that holds nothing: what it claims now is put back


@dataclass(slots=True)
class WorkerDrain:
    """Times are CLOCK_MONOTONIC seconds. A later order can only hasten the first."""

    context: WorkerContext
    ahead: ClaimsAhead
    _cancel_at: float = float("inf")
    _deadline: float = float("inf")

    def begin(self, order: Drain) -> None:
        """Drain as ordered. The store is told soon, so that it shows this worker as draining."""
        self._cancel_at = min(self._cancel_at, order.cancel_at)
        self._deadline = min(self._deadline, order.deadline)
        self.context.state.is_draining = True
        self.ahead.give_back("drain")
        self.context.state.want_renewal()

    def seconds_left(self) -> float:
        """The time that remains for the end of the worker, once nothing is left to do."""
        return max(LEAST_LEFT, min(self._deadline - time.monotonic(), self.context.spec.settings.drain_timeout))

    async def serve(self) -> None:
        """Returns when, after an order, nothing is left to do, or the deadline has passed."""
        state = self.context.state
        await state.changed.until(lambda: state.is_draining)
        await self._until_settled(lambda: self._cancel_at)
        self.ahead.running.stop_all("drain")
        await self._until_settled(lambda: self._deadline)

    async def _until_settled(self, deadline: Callable[[], float]) -> None:
        exchange = self.context.exchange
        idle_at = float("inf")
        while not exchange.settled:
            now = time.monotonic()
            idle_at = min(idle_at, now + ANSWER_TIMEOUT) if exchange.is_idle else float("inf")
            if (left := min(deadline(), idle_at) - now) <= 0:
                return
            with anyio.move_on_after(left):
                await self.context.state.changed.next()
