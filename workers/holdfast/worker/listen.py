"""Blocks on the store: on this worker's own hints always, and on the bells of its lanes while it can take work.

Hints and bells carry no data: a lost bell delays a task until the next poll, a lost hint until the next renewal.
"""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from holdfast.core.delivery import Hint
from holdfast.os.kill_points import Point, reached
from holdfast.worker.claims_ahead import ClaimsAhead
from holdfast.worker.context import WorkerContext
from holdfast.worker.pull import Puller

SETTLE_DELAY = 0.002  # seconds for which slots stay free before bells are listened to: a busy worker asks by itself
VOUCHED_POLL = 60.0  # seconds; a steward rings for foreign producers, and each renewal tells whether tasks wait
LONE_POLL = 1.0  # seconds; nobody rings for foreign producers


@dataclass(slots=True)
class HintListener:
    context: WorkerContext
    puller: Puller
    ahead: ClaimsAhead
    _hints_only: bool = False
    _woken_after: int = -1

    async def serve(self) -> None:
        """Wait for hints and bells, and act on them; never returns."""
        while True:
            self._hints_only = False
            if not self.context.heeds_bells():
                await self._await_slots()
            self._hints_only = not self.context.heeds_bells()
            hint = await self.context.retries.call("listen", self._wait)
            await self._act_on(hint)

    async def wake(self) -> None:
        """End a wait for hints only as soon as bells are of use; never returns.

        The hint that ends it may be lost: another one is sent after the next answer, but none before.
        """
        context = self.context
        while True:
            await context.state.changed.until(self._misses_bells)
            await anyio.sleep(SETTLE_DELAY)
            if self._misses_bells():
                self._woken_after = self.puller.answered
                await context.retries.call("wake", lambda: context.store.wake(context.incarnation))

    def poll_timeout(self) -> float:
        """Seconds that a wait for bells may last: what the settings say, or as long as the steward allows. While the
        store does not answer it is short: its end shows that the store answers again."""
        context = self.context
        default = VOUCHED_POLL if context.state.is_vouched_for else LONE_POLL
        poll = context.spec.settings.redis_poll_timeout or default
        return min(poll, LONE_POLL) if context.retries.degraded else poll

    async def _await_slots(self) -> None:
        """Wait 2 ms for slots to free before blocking on hints only: that wait would then have to be ended."""
        with anyio.move_on_after(SETTLE_DELAY):
            await self.context.state.changed.until(self.context.heeds_bells)

    def _misses_bells(self) -> bool:
        """True if this waits for hints only, though a bell would be of use."""
        is_woken = self._woken_after == self.puller.answered
        return self._hints_only and not is_woken and self.context.heeds_bells()

    async def _wait(self) -> Hint | None:
        spec = self.context.spec
        lanes = () if self._hints_only or spec.quarantine else spec.settings.lane_names  # no bell rings for a suspect
        return await self.context.store.listen(self.context.incarnation, lanes, self.poll_timeout())

    async def _act_on(self, hint: Hint | None) -> None:
        match hint:
            case Hint("cancel" | "pause" as why, task_id, claim):
                self.ahead.stop(task_id, claim, why)
            case Hint("return"):
                self.ahead.give_back("asked for")
            case Hint("look"):
                await self.puller.pull_now()
            case Hint("bell"):
                reached(Point.BELL)
                # Even a worker that has become full asks: the store then rings on for the others.
                await self.puller.pull_now()
            case None if not self._hints_only or self.context.state.is_apart:
                await self.puller.pull_now()
            case _:
                pass
