"""Renews the worker's lease, and compares what the worker holds with what the store says it owns.

If no steward renews the lease as well, there may be none that tends the lanes: then the worker does it.
"""

from __future__ import annotations

import signal
from dataclasses import dataclass

import anyio
import structlog

from holdfast.core.delivery import Renewed, Standing
from holdfast.core.pull_protocol import Lease
from holdfast.worker.claims_ahead import ClaimsAhead
from holdfast.worker.context import WorkerContext, lease_clock
from holdfast.worker.lane_tending import EVERY, tend

_log = structlog.get_logger("holdfast.worker")


@dataclass(slots=True)
class LeaseRenewal:
    """With `fence = strict`, a kernel timer kills this process when its lease ends; a renewal sets the timer again."""

    context: WorkerContext
    ahead: ClaimsAhead

    async def serve(self) -> None:
        """Renew three times per lease, and whenever a renewal is wanted; never returns."""
        state = self.context.state
        while True:
            await self.context.retries.call("renew", self.renew)
            with anyio.move_on_after(state.lease.interval):
                await state.changed.until(lambda: state.renewal_wanted)
            state.renewal_wanted = False

    async def tend_lanes(self) -> None:
        """Tend the lanes that this worker serves, while no steward vouches for it; never returns."""
        context, state = self.context, self.context.state
        while True:
            await anyio.sleep(EVERY)
            await state.changed.until(lambda: not state.is_vouched_for)
            await context.retries.call("tend", lambda: tend(context.store, context.spec.settings.lane_names))

    async def renew(self) -> None:
        context, state, sent_at = self.context, self.context.state, lease_clock()
        holdings = state.exchange.holdings(self.ahead.runner.tasks.notes())
        word = "draining" if state.is_draining else "live"
        lanes = context.spec.settings.lane_names
        renewed = await context.store.renew(context.incarnation, word, state.exchange.answered, holdings, lanes)
        if renewed.standing is Standing.DEAD:
            context.fenced.set()
        elif renewed.standing is Standing.UNKNOWN:
            context.unknown.set()
        else:
            self._extend(renewed, sent_at)
            self.ahead.runner.tasks.noted(held for held in holdings if (held.task_id, held.claim) not in renewed.lost)
            self._look_for_work(renewed)
            self._stop_handlers(renewed)
            self.ahead.begin_next(lease_clock())

    def _extend(self, renewed: Renewed, sent_at: float) -> None:
        state = self.context.state
        state.lease = Lease(state.lease.seconds, sent_at)
        age = renewed.vouched_ago_ms
        is_vouched_for = age is not None and age < 2000 * state.lease.interval
        if is_vouched_for != state.is_vouched_for:
            state.is_vouched_for = is_vouched_for
            state.changed.announce()
        if self.context.spec.settings.fence == "strict":
            signal.setitimer(signal.ITIMER_REAL, state.lease.seconds)

    def _look_for_work(self, renewed: Renewed) -> None:
        """Ask the store if entries wait. A bell, a hint or an answer may have been lost with a connection that died
        unnoticed."""
        state = self.context.state
        if renewed.quiet != state.is_quiet or state.exchange.is_unheard(renewed.request):
            state.want_pull()
        if renewed.waiting:
            self.context.seek()

    def _stop_handlers(self, renewed: Renewed) -> None:
        for task_id, claim in renewed.lost:
            self.ahead.stop(task_id, claim, "lost")
        for task_id, claim in renewed.to_pause:
            self.ahead.stop(task_id, claim, "pause")
        if renewed.returned:
            _log.warning("the store took back claims that this worker did not hold", count=renewed.returned)
