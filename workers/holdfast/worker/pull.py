"""Pulls from the store, one request at a time: a request reports ended tasks and brings the next ones."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import TYPE_CHECKING

import anyio
import structlog

from holdfast.core.delivery import Pulled, Settle, Standing, Verdict
from holdfast.core.pull_protocol import Request
from holdfast.core.quiet_hosts import HaltScope
from holdfast.os.kill_points import Point, armed, reached
from holdfast.telemetry.port import FireSpans
from holdfast.worker.claims_ahead import ClaimsAhead
from holdfast.worker.context import WorkerContext, lease_clock
from holdfast.worker.state import claims_ahead, slots_to_claim

if TYPE_CHECKING:
    from holdfast.client.schedule_fire import ScheduleFirer


# A worker fires schedules that go on (`CONTINUE`) as soon as it has settled a task of theirs.
#
# A steward would fire them, too, but perhaps after this worker has claimed again: two jobs that continue would then
# alternate, whatever the weights of their lanes. What cannot be fired here is left to the steward.

NEXT_MILLISECOND = 0.001  # seconds: two fires of one schedule need different milliseconds
TRIES = 3
TIMEOUT = 1.0

_log = structlog.get_logger("holdfast.worker")


@dataclass
class ContinuedSchedules:
    """Makes fires of CONTINUE schedules. `timeout`: how many seconds firing may delay the worker's next claim. `spans`
    makes a span for each fire."""

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
        """Fire these schedules. Never raises, because a steward fires the rest."""
        with anyio.move_on_after(self.timeout) as scope:
            try:
                await self._fire(schedule_ids)
            except Exception:  # border of these fires: a steward fires what is due, and logs what is wrong with it
                _log.debug("continued schedules are left to the steward", schedules=schedule_ids, exc_info=True)
        if scope.cancelled_caught:
            _log.debug("continued schedules are left to the steward: the store is slow", schedules=schedule_ids)

    async def _fire(self, schedule_ids: Sequence[str]) -> None:
        for _ in range(TRIES):
            schedule_ids = await self._firer.go_on(schedule_ids)
            if not schedule_ids:
                return
            await anyio.sleep(NEXT_MILLISECOND)


REPORT_WITHIN = 0.005  # seconds

_TOO_LATE = frozenset({Verdict.LOST, Verdict.GONE})
_ANSWERED = frozenset({Standing.OK, Standing.DOUBTED, Standing.QUIET, Standing.APART, Standing.FIRES})


def _is_empty(pulled: Pulled) -> bool:
    return pulled.standing is Standing.OK and not (pulled.deliveries or pulled.backlog or pulled.inbox or pulled.fires)


@dataclass(slots=True)
class Puller:
    """`answered`: number of answered pulls. `found_nothing`: no pull is under way, and the last one found no work and
    no fire to make. `report_within`: the longest time in seconds that an outcome waits while enough tasks wait to
    begin. `fire_spans` makes spans for fires of CONTINUE schedules."""

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
        """Take the answer of the request behind a bell; False if its number has been used again since."""
        request = self.context.exchange.waiting
        if request is None:
            return False
        self.found_nothing = False
        await self._take_in(request, pulled)
        self.found_nothing = _is_empty(pulled) and self.answered == self._begun
        await asyncio.sleep(0)  # the handlers begin before the others look at what has changed
        self.context.state.changed.announce()
        return True

    async def _take_in(self, request: Request, pulled: Pulled) -> None:
        state = self.context.state
        self._take(request, pulled)
        if pulled.fires or state.is_quiet != self._noted_quiet:
            state.changed.announce()  # the others go on while this waits for the store
        await self._note_quiet()
        if pulled.fires:
            await self.fires.fire(pulled.fires)
            state.want_pull()

    async def _let_more_end(self) -> None:
        """Wait a little, so that the next request carries more outcomes, while enough tasks wait to begin."""
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
                _log.warning("an outcome came too late", task=settlement.task_id, verdict=str(verdict))
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
        """Log once that this host claims nothing, or claims again."""
        quiet = self.context.state.is_quiet
        if quiet == self._noted_quiet or (quiet and await self._ends_at_halt()):
            return
        self._noted_quiet = quiet
        _log.warning("this host is quiet or halted: nothing is claimed" if quiet else "this host claims again")

    async def _ends_at_halt(self) -> bool:
        """True if this process must end because of a halt; it logs that itself."""
        seen = self.context.spec.halt
        if seen is None:
            return False
        last_halt = partial(self.context.store.last_halt, socket.gethostname())
        return await self.context.retries.call("halts", last_halt) > seen
