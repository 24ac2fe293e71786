"""Blocks on the store: on this worker's own hints always, and on the bells of its lanes while it can take work.

Hints and bells carry no data: a lost bell delays a task until the next poll, a lost hint until the next renewal.

A worker of a pool that holds nothing, and whose last pull found nothing, has its next pull wait at the store behind the
bell: so a task that comes to an idle queue costs one trip less. As soon as the worker may claim nothing any more, it
closes that connection, and asks under the same number for nothing: what was claimed meanwhile goes back. On a quiet
host it asks at once, and what waits claims nothing any more. Should the worker not run when the bell rings, its claim
goes back as well: see `holdfast/core/begun_page.py`. If the answer does not come, as the connection has died unnoticed,
the next renewal tells that the request was run, and it is asked again.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from holdfast.core.delivery import Hint, Pulled, SendPull
from holdfast.core.worker_records import WorkerKind
from holdfast.errors import StoreError
from holdfast.os.kill_points import Point, reached
from holdfast.worker.claims_ahead import ClaimsAhead
from holdfast.worker.context import WorkerContext, lease_clock
from holdfast.worker.pull import Puller
from holdfast.worker.state import may_claim

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
    _send_pull: SendPull | None = None
    _wait_scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    async def serve(self) -> None:
        """Wait for hints and bells, and act on them; never returns."""
        while True:
            self._hints_only = False
            if not self.context.heeds_bells():
                await self._await_slots()
            self._hints_only = not self.context.heeds_bells()
            hint, pulled = await self.context.retries.call("listen", self._wait)
            if hint is not None and hint.kind == "bell":
                reached(Point.BELL)
            is_answered = pulled is not None and await self.puller.take_waiting(pulled)
            if not is_answered and self._is_to_ask(hint):
                await self.puller.pull_now()
            self._heed(hint)

    async def wake(self) -> None:
        """End a wait for hints alone as soon as bells are useful; never returns.

        The hint that ends the wait may be lost; another one is sent only after the next answer.
        """
        context = self.context
        while True:
            await context.state.changed.until(self._misses_bells)
            await anyio.sleep(SETTLE_DELAY)
            if self._misses_bells():
                self._woken_after = context.exchange.answered
                await context.retries.call("wake", lambda: context.store.wake(context.incarnation))

    async def pull_when_idle(self) -> None:
        """Have the next pull wait behind the bell as soon as this worker holds nothing; never returns."""
        while True:
            await self.context.state.changed.until(self._may_pull_behind)
            self._pull_behind()

    async def withdraw(self) -> None:
        """Withdraw the pull that waits behind the bell as soon as this worker may claim nothing; never returns."""
        state, exchange = self.context.state, self.context.exchange
        while True:
            await state.changed.until(lambda: exchange.waiting is not None)
            with anyio.move_on_after(state.lease.seconds_left(lease_clock())):  # its end is no change of the state
                await state.changed.until(lambda: exchange.waiting is None or not self._may_wait())
            if exchange.waiting is not None and not self._may_wait():
                self._wait_scope.cancel()  # then the store is asked again
                await state.changed.until(lambda: exchange.waiting is None)

    def poll_timeout(self) -> float:
        """How many seconds a wait for bells may last, by the settings or the steward. While the store does not answer,
        waits are short, so that the worker soon sees it answer again."""
        context = self.context
        default = VOUCHED_POLL if context.state.is_vouched_for else LONE_POLL
        poll = context.spec.settings.redis_poll_timeout or default
        return min(poll, LONE_POLL) if context.retries.degraded else poll

    async def _await_slots(self) -> None:
        """Wait 2 ms for a free slot before blocking on hints alone: a slot that frees would have to end that wait."""
        with anyio.move_on_after(SETTLE_DELAY):
            await self.context.state.changed.until(self.context.heeds_bells)

    def _misses_bells(self) -> bool:
        """True if this waits for hints only, though a bell would be of use."""
        is_woken = self._woken_after == self.context.exchange.answered
        return self._hints_only and not is_woken and self.context.heeds_bells()

    async def _wait(self) -> tuple[Hint | None, Pulled | None]:
        spec, store, timeout = self.context.spec, self.context.store, self.poll_timeout()
        lanes = () if self._hints_only or spec.quarantine else spec.settings.lane_names  # no bell rings for a suspect
        if not lanes or spec.kind is not WorkerKind.WORKER:
            return await store.listen(self.context.incarnation, lanes, timeout), None
        weights = spec.settings.weights
        try:
            with anyio.CancelScope() as self._wait_scope:
                return await store.listen_and_pull(self.context.incarnation, lanes, timeout, weights, self._offer)
        except StoreError:
            self.context.state.want_pull()  # under the number of the one that waits: it may have claimed something
            raise
        return None, None  # it was withdrawn

    def _offer(self, send: SendPull | None) -> None:
        """Take the function that sends a pull behind the wait for a bell; None once nothing can be sent any more."""
        self._send_pull = send
        if send is not None and self._may_pull_behind():
            self._pull_behind()

    def _may_pull_behind(self) -> bool:
        """True if the next pull can wait behind the bell. Not while a pull is wanted or under way, not before the store
        knows of a new connection, and not while fires of CONTINUE schedules are made."""
        if self._send_pull is None or self.context.retries.is_cut or not self.context.exchange.settled:
            return False
        return self.puller.found_nothing and self.context.heeds_bells()

    def _may_wait(self) -> bool:
        return may_claim(self.context.state, lease_clock())

    def _pull_behind(self) -> None:
        request, send = self.context.exchange.request_behind_bell(), self._send_pull
        self._send_pull = None
        if send is None or not send(request.number, request.slots):
            self.context.exchange.waiting = None
        self.context.state.changed.announce()

    def _is_to_ask(self, hint: Hint | None) -> bool:
        """True if the worker must ask the store now. After a bell even a full worker asks, so that the store rings for
        the other workers."""
        if hint is not None:
            return hint.kind in {"bell", "look"}
        return not self._hints_only or self.context.state.is_apart

    def _heed(self, hint: Hint | None) -> None:
        match hint:
            case Hint("cancel" | "pause" as why, task_id, claim):
                self.ahead.stop(task_id, claim, why)
            case Hint("return"):
                self.ahead.give_back("asked for")
            case _:
                pass
