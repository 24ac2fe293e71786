"""This worker's membership in the store: it registers, renews its lease, and publishes what its application defines.

A worker registers its incarnation before it is ready, and again whenever the store has lost the incarnation. If the
store has declared the incarnation dead, the store has given the tasks to other workers. Then this worker is fenced: it
stops its handlers, reports nothing, and ends.
"""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import anyio
import anyio.lowlevel

from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.delivery import Renewed, Standing
from holdfast.core.published_handlers import MOST_BYTES_OF_ALL, PublishedHandler, spelled
from holdfast.core.pull_protocol import Lease
from holdfast.core.schedule_records import Put
from holdfast.core.worker_records import Introduction, ServedLane, ServedLimits, ServedWork, WorkerStage
from holdfast.errors import InvalidScheduleError
from holdfast.handler.handler import Handler
from holdfast.handler.publication import publication
from holdfast.os.processes import boot_id
from holdfast.store import Store
from holdfast.worker.claims_ahead import ClaimsAhead
from holdfast.worker.context import WorkerContext, WorkerSpec, lease_clock
from holdfast_config import Settings, library_log

_log = library_log.get_logger("holdfast.worker")


def served_work(handler: Handler, settings: Settings) -> ServedWork:
    lanes = (ServedLane(lane.name, None if settings.strict else lane.weight, lane.timeout) for lane in settings.lanes)
    limits = ServedLimits(settings.max_attempts, settings.unknown_handler_timeout, settings.keep)
    return ServedWork(tuple(lanes), handler.names, limits, settings.application or "", frozenset(handler.schedules))


def introduction(spec: WorkerSpec, handler: Handler) -> Introduction:
    served = served_work(handler, spec.settings)
    return Introduction(
        spec.incarnation,
        socket.gethostname(),
        boot_id(),
        os.getpid(),
        spec.slot,
        served,
        spec.kind,
        spec.halt,
        spec.capacity,
    )


@dataclass(slots=True)
class WorkerRegistration:
    """Registers one worker in the store."""

    context: WorkerContext
    handler: Handler

    async def register(self) -> None:
        """Register the worker. If the store refuses, the worker ends. The store refuses if it has declared the worker
        dead, or if another worker uses its id."""
        context = self.context
        introduced = introduction(context.spec, self.handler)
        standing = await context.retries.call(
            "register", lambda: context.store.register(replace(introduced, answered=context.exchange.answered))
        )
        if standing is Standing.OK:
            return
        _log.error("the store refuses this worker", standing=str(standing))
        context.fenced.set()

    async def serve(self) -> None:
        """Publish the handlers, and register again when the store has lost this worker; never returns."""
        publisher = HandlerPublisher(self.context, self.handler)
        while True:
            await publisher.publish()
            await self.context.unknown.wait()
            self.context.unknown = anyio.Event()
            _log.warning("the store has lost this worker; it registers anew")
            self.context.retries.is_cut = True  # the store may have been set back to an earlier state
            await self.register()
            self.context.state.want_renewal()


# Tends lanes: carries out orders that were pushed to a lane, even if no worker takes entries from it, and removes stale
# entries. A steward tends the lanes of its pool. A worker without a steward does it itself.

TEND_EVERY = 1.0  # seconds: after so long, an order in a lane is carried out
NEXT_STEP = 0.01  # seconds: many stale entries must not delay other clients


async def tend(store: Store, lanes: Sequence[str]) -> None:
    """Tend these lanes once: put back missing entries, and let due tasks begin. This takes one call of the store, or
    several if there is much to do."""
    rest = lanes
    while rest:
        tended = await store.tend(rest)
        if rest := rest[tended.lanes :]:
            await anyio.sleep(NEXT_STEP)


# Renews the worker's lease, and compares what the worker holds with what the store says it owns.
#
# If no steward renews this lease, there may be no steward that tends the lanes. Then the worker tends them itself.


@dataclass(slots=True)
class LeaseRenewal:
    """Renews the lease of one worker. With `fence = strict`, a kernel timer kills this process when its lease ends; a
    renewal sets the timer again."""

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
        """While no steward vouches for this worker, tend the lanes that it serves; never returns."""
        context, state = self.context, self.context.state
        while True:
            await anyio.sleep(TEND_EVERY)
            await state.changed.until(lambda: not state.is_vouched_for)
            await context.retries.call("tend", lambda: tend(context.store, context.spec.settings.lane_names))

    async def renew(self) -> None:
        """Renew the lease once, and act on the answer."""
        context, state, sent_at = self.context, self.context.state, lease_clock()
        holdings = state.exchange.holdings(self.ahead.runner.tasks.notes())
        word = WorkerStage.DRAINING if state.is_draining else WorkerStage.LIVE
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
        """If the answer to a renewal shows work, ask the store for tasks. A bell, a hint or an answer may have been
        lost with a connection that died unnoticed."""
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


# Publishes this worker's handlers in the store, so that forms and APIs know the arguments of each.

AT_ONCE = 65_536  # bytes of one call of the store
PUBLISHER = 0  # the slot whose worker publishes, because all workers of a pool have the same handlers


@dataclass(slots=True)
class HandlerPublisher:
    """Publishes the handlers of one worker."""

    context: WorkerContext
    handler: Handler

    async def publish(self) -> None:
        """Publish the handlers, a few at a time. If a handler is too large, only its name is published."""
        spec = self.context.spec
        if spec.slot != PUBLISHER or spec.quarantine:
            return
        batch, size, total = list[PublishedHandler](), 0, 0
        for handler in publication(self.handler):
            await anyio.lowlevel.checkpoint()  # tasks go on between two schemas
            length = len(spelled(handler))
            kept = handler if total + length <= MOST_BYTES_OF_ALL else PublishedHandler(handler.name)
            batch, size, total = [*batch, kept], size + length, total + length
            if size >= AT_ONCE:
                await self._publish(batch)
                batch, size = [], 0
        await self._publish(batch)

    async def _publish(self, batch: list[PublishedHandler]) -> None:
        if batch:
            await self.context.retries.call("handlers", lambda: self.context.store.publish_handlers(batch))


# Each worker declares the schedules that the application's code defines, unless they are declared already.
#
# If another application declares a schedule, the worker asks for it again, less and less often. The schedule may have
# moved from the other code to this one, or the application may have got another name.

FIRST_WAIT = 1.0  # seconds, then twice as long each time
LONGEST_WAIT = 30.0  # seconds


@dataclass(slots=True)
class DeclaredSchedules:
    """Declares the schedules of one worker's code."""

    context: WorkerContext
    handler: Handler

    async def serve(self) -> None:
        """Declare the schedules of the code. Returns as soon as none of them is owned by another application, or when
        the worker drains."""
        if not self.handler.schedules:
            return
        foreign = await self._declare(self.handler.schedules)
        for schedule_id in foreign:
            _log.warning(
                "another running application also declares this schedule: the store keeps the other declaration",
                schedule=schedule_id,
                remedy="remove it from the other application's code, or give it another id in one of them",
            )
        if foreign:
            await self._ask_again(foreign)

    async def _ask_again(self, foreign: list[str]) -> None:
        asked = await self.context.retries.call("schedules", self.context.store.clock_ms)
        wait = FIRST_WAIT
        while foreign and not await self._drains_within(wait):
            foreign = await self._declare(foreign, asked)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _drains_within(self, seconds: float) -> bool:
        state = self.context.state
        with anyio.move_on_after(seconds):
            await state.changed.until(lambda: state.is_draining)
        return state.is_draining

    async def _declare(self, ids: Iterable[str], asked: int | None = None) -> list[str]:
        """Declare schedules. Returns the ids of the schedules that another application owns."""
        foreign: list[str] = []
        for schedule_id in ids:
            answer = await self._put(schedule_id, asked)
            if answer == "foreign":
                foreign.append(schedule_id)
            elif asked is not None and answer in {"new", "changed", "same"}:
                _log.info("no other application declares this schedule any more", schedule=schedule_id)
        return foreign

    async def _put(self, schedule_id: str, asked: int | None) -> str:
        from holdfast.client.schedules import Schedules  # large imports, seldom needed

        settings = self.context.spec.settings
        single = SubmitRetries(attempts=1)  # `retries` below asks again, for as long as it takes
        schedules = Schedules(self.context.store, settings.queue_name, settings.max_message_bytes, single)

        async def declare() -> Put:
            return await schedules.declare(
                schedule_id, self.handler.schedules[schedule_id], settings.application or "", asked
            )

        try:
            return (await self.context.retries.call("schedules", declare)).word
        except InvalidScheduleError as error:  # its last date may have passed; the worker still serves its tasks
            _log.warning("a schedule that the code declares cannot be set", schedule=schedule_id, reason=str(error))
            return ""
