"""How a worker gets its work: it blocks on BLPOP until a bell rings, then pulls. A bell is a list in Redis; the store
pushes an element to it when tasks wait.

- `Puller` sends one request at a time. A request reports ended tasks and brings the next ones.
- `HintListener` waits in BLPOP: on this worker's own hints always, and on the bells of its lanes while it can take
  work. Hints and bells carry no data. A lost bell delays a task until the next poll, a lost hint until the next
  renewal.
- If a worker holds nothing, and its last pull found nothing, it sends its next pull together with the wait for a bell.
  The store runs this pull when the bell rings: the pull waits behind the bell. A task that comes to an idle queue then
  costs one round trip less.

A pull behind the bell can go wrong in these ways:

- The worker may claim nothing any more. It closes the connection, and sends a request for no tasks under the same
  number. Tasks that were claimed in the meantime go back.
- The host becomes quiet. The worker asks at once, and the waiting pull claims nothing any more.
- The worker does not run when the bell rings. Its claim goes back: see `holdfast/core/begun_page.py`.
- The answer does not come, because the connection has died unnoticed. The next renewal reports that the store has run
  the request, and the worker sends the request again.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

import anyio

from holdfast.core.delivery import Hint, HintKind, Pulled, SendPull, Settle, Standing, Verdict
from holdfast.core.pull_protocol import Request
from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.worker_records import WorkerKind
from holdfast.errors import StoreError
from holdfast.os.kill_points import Point, armed, reached
from holdfast.telemetry.port import FireSpans
from holdfast.worker.claims_ahead import ClaimsAhead
from holdfast.worker.context import WorkerContext, lease_clock
from holdfast.worker.state import claims_ahead, may_claim, slots_to_claim
from holdfast_config import library_log

if TYPE_CHECKING:
    from holdfast.client.schedule_fire import ScheduleFirer

REPORT_WITHIN = 0.005  # seconds that an outcome waits at most while enough tasks wait to begin
SETTLE_DELAY = 0.002  # seconds that a slot must stay free before the worker listens to bells: a busy one pulls anyway
VOUCHED_POLL = 60.0  # seconds; a steward rings for foreign producers, and each renewal tells whether tasks wait
LONE_POLL = 1.0  # seconds; nobody rings for foreign producers
NEXT_MILLISECOND = 0.001  # seconds: two runs of one schedule need different milliseconds
TRIES = 3  # of firing CONTINUE schedules
TIMEOUT = 1.0  # seconds for all these tries

_log = library_log.get_logger("holdfast.worker")

_TOO_LATE = frozenset({Verdict.LOST, Verdict.GONE})
_ANSWERED = frozenset({Standing.OK, Standing.DOUBTED, Standing.QUIET, Standing.APART, Standing.FIRES})


def _is_empty(pulled: Pulled) -> bool:
    return pulled.standing is Standing.OK and not (pulled.deliveries or pulled.backlog or pulled.inbox or pulled.fires)


@dataclass(slots=True)
class Puller:
    """Sends the pulls of one worker. `answered`: number of answered pulls. `found_nothing`: no pull is under way, and
    the last one brought neither tasks nor schedules. `report_within`: the longest time in seconds that an outcome waits
    while enough tasks wait to begin. `fire_spans` makes the spans for new tasks of CONTINUE schedules."""

    context: WorkerContext
    ahead: ClaimsAhead
    fire_spans: FireSpans | None = None
    fires: ContinuedSchedules = field(init=False)
    answered: int = 0
    found_nothing: bool = False
    report_within: float = REPORT_WITHIN
    _begun: int = 0
    _noted_quiet: bool = False

    def __post_init__(self) -> None:
        self.fires = ContinuedSchedules(self.context, spans=self.fire_spans)

    async def pull_now(self) -> None:
        """Request a pull, and wait until a pull that began after this call is answered."""
        number = self._begun + 1
        self.context.state.want_pull()
        await self.context.state.changed.until(lambda: self.answered >= number)

    async def serve(self) -> None:
        """Pull whenever a pull is wanted; never returns."""
        state = self.context.state
        while True:
            await state.changed.until(lambda: state.pull_wanted)
            if self.ahead.has_enough():
                await self._let_more_end()
            state.pull_wanted = False
            self._begun += 1
            self.found_nothing = False
            request, pulled = await self.context.retries.call("pull", self._send)
            await self._take_in(request, pulled)
            self.answered = self._begun
            self.found_nothing = _is_empty(pulled)
            state.changed.announce()

    async def take_waiting(self, pulled: Pulled) -> bool:
        """Take in the answer of the request that waited behind a bell. Returns False if another request has used its
        number since."""
        request = self.context.exchange.waiting
        if request is None:
            return False
        self.found_nothing = False
        await self._take_in(request, pulled)
        self.found_nothing = _is_empty(pulled) and self.answered == self._begun
        await asyncio.sleep(0)  # the handlers begin before other parts check the changed state
        self.context.state.changed.announce()
        return True

    async def _take_in(self, request: Request, pulled: Pulled) -> None:
        state = self.context.state
        self._take(request, pulled)
        if pulled.fires or state.is_quiet != self._noted_quiet:
            state.changed.announce()  # other parts go on while this waits for the store
        await self._note_quiet()
        if pulled.fires:
            await self.fires.fire(pulled.fires)
            state.want_pull()

    async def _let_more_end(self) -> None:
        """Wait a little while enough tasks wait to begin, so that the next request carries more outcomes."""
        with anyio.move_on_after(self.report_within):
            await self.context.state.changed.until(lambda: not self.ahead.has_enough())

    async def _send(self) -> tuple[Request, Pulled]:
        context, state = self.context, self.context.state
        if context.retries.is_cut:
            context.retries.is_cut = False  # an error of this call sets it again
            await context.store.reconnected(context.incarnation)
        now = lease_clock()
        slots = slots_to_claim(state, now)
        state.durations.estimate(state.use.done)
        ahead = claims_ahead(state, slots, now) if self.ahead.may_hold(now) else 0
        request = state.exchange.next_request(slots, ahead)
        if state.is_draining:
            reached(Point.DRAIN)
        if request.settlements:
            reached(Point.BEFORE_SETTLE)
        lanes, weights = context.spec.settings.lane_names, context.spec.settings.weights
        pulled = await context.store.pull(
            context.incarnation, request.number, request.slots, lanes, request.settlements, weights, request.ahead
        )
        return request, pulled

    def _take(self, request: Request, pulled: Pulled) -> None:
        self._take_verdicts(request, pulled)
        started = self.context.exchange.answer(request, pulled)
        if request.settlements:
            reached(Point.SETTLED)
        if armed:
            for _ in started:
                reached(Point.PULLED)
        self._take_standing(pulled.standing)
        self.ahead.take(started, wanted=request.slots + request.ahead > 0)
        if pulled.inbox:
            self.context.state.inbox_waits = True

    def _take_verdicts(self, request: Request, pulled: Pulled) -> None:
        settle, on_verdict = self.context.begun.settle, self.context.on_verdict
        for settlement, verdict in zip(request.settlements, pulled.verdicts, strict=True):
            if verdict in _TOO_LATE and settlement.kind is not Settle.RETURNED:
                _log.warning(
                    "an outcome came too late: the store did not record it",
                    task=settlement.task_id,
                    verdict=str(verdict),
                )
            on_verdict(settlement, verdict)
            settle(settlement.task_id, settlement.claim)

    def _take_standing(self, standing: Standing) -> None:
        if standing in _ANSWERED:
            self.context.state.is_quiet = standing is Standing.QUIET
            self.context.state.is_apart = standing is Standing.APART
        elif standing is Standing.DEAD:
            self.context.fenced.set()
        elif standing is Standing.UNKNOWN:
            self.context.unknown.set()

    async def _note_quiet(self) -> None:
        """Log once when this host becomes quiet or halted (its workers claim no tasks), and once when it is so no
        longer."""
        quiet = self.context.state.is_quiet
        if quiet == self._noted_quiet or (quiet and await self._ends_at_halt()):
            return
        self._noted_quiet = quiet
        _log.warning(
            "this host is quiet or halted: its workers claim no tasks"
            if quiet
            else "this host is no longer quiet or halted: its workers claim tasks"
        )

    async def _ends_at_halt(self) -> bool:
        """True if this process must end because of a halt; the process logs its end itself."""
        seen = self.context.spec.halt
        if seen is None:
            return False
        last_halt = partial(self.context.store.last_halt, socket.gethostname())
        return await self.context.retries.call("halts", last_halt) > seen


@dataclass(slots=True)
class HintListener:
    """Waits for hints (messages of the store for this worker) and bells (the store's signal that tasks wait)."""

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
            if hint is not None and hint.kind is HintKind.BELL:
                reached(Point.BELL)
            is_answered = pulled is not None and await self.puller.take_waiting(pulled)
            if not is_answered and self._is_to_ask(hint):
                await self.puller.pull_now()
            self._heed(hint)

    async def wake(self) -> None:
        """While the worker waits for hints only: end this wait as soon as bells are useful; never returns.

        The hint that ends the wait may be lost. The worker sends another hint only after its wait was answered.
        """
        context = self.context
        while True:
            await context.state.changed.until(self._misses_bells)
            await anyio.sleep(SETTLE_DELAY)
            if self._misses_bells():
                self._woken_after = context.exchange.answered
                await context.retries.call("wake", lambda: context.store.wake(context.incarnation))

    async def pull_when_idle(self) -> None:
        """As soon as this worker holds nothing, send the next pull together with the call that waits for the bell;
        never returns."""
        while True:
            await self.context.state.changed.until(self._may_pull_behind)
            self._pull_behind()

    async def withdraw(self) -> None:
        """As soon as this worker may claim nothing, withdraw the pull that waits behind the bell; never returns."""
        state, exchange = self.context.state, self.context.exchange
        while True:
            await state.changed.until(lambda: exchange.waiting is not None)
            with anyio.move_on_after(state.lease.seconds_left(lease_clock())):  # its end is no change of the state
                await state.changed.until(lambda: exchange.waiting is None or not self._may_wait())
            if exchange.waiting is not None and not self._may_wait():
                self._wait_scope.cancel()  # then the worker asks the store again
                await state.changed.until(lambda: exchange.waiting is None)

    def poll_timeout(self) -> float:
        """Seconds that a wait for bells may last: the setting `redis_poll_timeout`, else a default, which is longer
        while a steward vouches for this worker. While the store does not answer, waits are short, so that the worker
        soon sees it answer again."""
        context = self.context
        default = VOUCHED_POLL if context.state.is_vouched_for else LONE_POLL
        poll = context.spec.settings.redis_poll_timeout or default
        return min(poll, LONE_POLL) if context.retries.degraded else poll

    async def _await_slots(self) -> None:
        """Wait 2 ms for a free slot, before waiting for hints without bells. If a slot became free just after the
        beginning of that wait, the wait would have to be ended at once."""
        with anyio.move_on_after(SETTLE_DELAY):
            await self.context.state.changed.until(self.context.heeds_bells)

    def _misses_bells(self) -> bool:
        """True if the worker waits for hints without bells, although a bell would now be useful."""
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
            self.context.state.want_pull()  # under the number of the waiting pull, which may have claimed something
            raise
        return None, None  # the pull was withdrawn

    def _offer(self, send: SendPull | None) -> None:
        """Take the function that sends a pull behind the present wait for a bell; None if it is too late for such a
        pull."""
        self._send_pull = send
        if send is not None and self._may_pull_behind():
            self._pull_behind()

    def _may_pull_behind(self) -> bool:
        """True if the next pull may be sent together with the call that waits for the bell. False while a pull is
        wanted or under way. False also while the store does not know of a new connection, and while the worker
        creates tasks of CONTINUE schedules."""
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
        """True if the worker must ask the store now. After a bell even a full worker asks, so that the store rings the
        bell for other workers."""
        if hint is not None:
            return hint.kind in {HintKind.BELL, HintKind.LOOK}
        return not self._hints_only or self.context.state.is_apart

    def _heed(self, hint: Hint | None) -> None:
        match hint:
            case Hint(HintKind.CANCEL | HintKind.PAUSE as why, task_id, claim):
                self.ahead.stop(task_id, claim, why)
            case Hint(HintKind.RETURN):
                self.ahead.give_back("asked for")
            case _:
                pass


@dataclass
class ContinuedSchedules:
    """Creates the next task of a CONTINUE schedule as soon as this worker has settled the last one.

    A steward would create the task, too, but perhaps after this worker has claimed another task. Then two CONTINUE
    schedules would alternate, whatever the weights of their lanes. If this worker cannot create the task, the steward
    does. `timeout`: how many seconds this may delay the worker's next claim. `spans` makes a span for each created
    task.
    """

    context: WorkerContext
    timeout: float = TIMEOUT
    spans: FireSpans | None = None

    @cached_property
    def _firer(self) -> ScheduleFirer:
        from holdfast.client.schedule_fire import ScheduleFirer  # large imports, seldom needed

        settings, spec = self.context.spec.settings, self.context.spec
        scope = HaltScope(socket.gethostname(), spec.halt or 0)
        return ScheduleFirer(
            self.context.store, settings.queue_name, settings.max_message_bytes, scope=scope, spans=self.spans
        )

    async def fire(self, schedule_ids: Sequence[str]) -> None:
        """Create the next tasks of these schedules. Never raises: a steward creates the tasks that are left."""
        with anyio.move_on_after(self.timeout) as scope:
            try:
                await self._fire(schedule_ids)
            except Exception:  # a steward creates the tasks of the due schedules, and logs their errors
                _log.debug(
                    "this worker cannot fire these CONTINUE schedules: the steward does",
                    schedules=schedule_ids,
                    exc_info=True,
                )
        if scope.cancelled_caught:
            _log.debug(
                "the store is slow: the steward, not this worker, fires these CONTINUE schedules",
                schedules=schedule_ids,
            )

    async def _fire(self, schedule_ids: Sequence[str]) -> None:
        for _ in range(TRIES):
            schedule_ids = await self._firer.go_on(schedule_ids)
            if not schedule_ids:
                return
            await anyio.sleep(NEXT_MILLISECOND)
