"""The worker's own heartbeat: its lease, and what it holds compared with what it owns."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import anyio
import structlog

from holdfast.core.delivery import Renewed, Standing
from holdfast.core.lease import Lease
from holdfast.worker.context import WorkerContext
from holdfast.worker.run import RunningTasks

VOUCHED_POLL = 60.0  # seconds; a steward rings for foreign producers, and each renewal tells whether anything waits
LONE_POLL = 1.0  # seconds; nobody rings for foreign producers

_log = structlog.get_logger("holdfast.worker")


def clock() -> float:
    """Seconds, going on while the host sleeps."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


@dataclass(slots=True)
class LeaseRenewal:
    """With `fence = strict` a kernel timer that renewals re-arm ends this process when its lease does. `seek` is called
    when tasks wait: their bell may have been rung on a connection that is dead without a word. `heed_quiet` is told
    whether this host is to claim nothing: the hint to look may have been lost the same way."""

    post: WorkerContext
    hands: RunningTasks
    lease: Lease
    seek: Callable[[], None]
    heed_quiet: Callable[[bool], None]
    _vouched: bool = False
    _soon: anyio.Event = field(default_factory=anyio.Event)

    def soon(self) -> None:
        """Renew without waiting for the interval: something changed that the store should know."""
        self._soon.set()

    def holds(self) -> bool:
        """Whether the lease holds now."""
        return self.lease.holds(clock())

    def poll_timeout(self) -> float:
        """Seconds that a wait for bells may last: what the settings say, or as long as the steward allows. A wait on a
        store that did not answer is a short one: its end tells that the store answers again."""
        poll = self.post.spec.settings.redis_poll_timeout or (VOUCHED_POLL if self._vouched else LONE_POLL)
        return min(poll, LONE_POLL) if self.post.insist.degraded else poll

    async def serve(self) -> None:
        while True:
            await self.post.insist.call("renew", self._renew)
            with anyio.move_on_after(self.lease.interval):
                await self._soon.wait()
            self._soon = anyio.Event()

    async def _renew(self) -> None:
        post, sent_at = self.post, clock()
        holdings = post.exchange.holdings(self.hands.notes())
        state = "draining" if post.draining.is_set() else "live"
        lanes = post.spec.settings.lane_names
        renewed = await post.store.renew(post.incarnation, state, post.exchange.answered, holdings, lanes)
        if renewed.standing is Standing.DEAD:
            post.fenced.set()
        elif renewed.standing is Standing.UNKNOWN:
            post.unknown.set()
        else:
            self._extend(renewed, sent_at)
            self.hands.noted(held for held in holdings if held.task_id not in renewed.lost)
            self.heed_quiet(renewed.quiet)
            if renewed.waiting:
                self.seek()
            self._drop(renewed, {held.task_id: held.claim for held in holdings})

    def _extend(self, renewed: Renewed, sent_at: float) -> None:
        self.lease = Lease(self.lease.seconds, sent_at)
        self._vouched = renewed.vouched_ago_ms is not None and renewed.vouched_ago_ms < 2000 * self.lease.interval
        if self.post.spec.settings.fence == "strict":
            signal.setitimer(signal.ITIMER_REAL, self.lease.seconds)

    def _drop(self, renewed: Renewed, claims: dict[str, str]) -> None:
        for task_id in renewed.lost:
            self.hands.stop(task_id, claims[task_id], "lost")
        for task_id in renewed.to_pause:
            self.hands.stop(task_id, claims[task_id], "pause")
        if renewed.returned:
            _log.warning("claims that this worker did not hold went back", count=renewed.returned)
