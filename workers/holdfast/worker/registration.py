"""Registers this worker's incarnation in the store, and again whenever the store has lost it."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable
from dataclasses import dataclass, replace

import anyio
import anyio.lowlevel
import structlog

from holdfast.client.submit_retries import SubmitRetries
from holdfast.core.delivery import Standing
from holdfast.core.published_handlers import MOST_BYTES_OF_ALL, PublishedHandler, spelled
from holdfast.core.schedule_records import Put
from holdfast.core.worker_records import Introduction, ServedLane, ServedLimits, ServedWork
from holdfast.errors import InvalidScheduleError
from holdfast.handler.handler import Handler
from holdfast.handler.publication import publication
from holdfast.os.processes import boot_id
from holdfast.worker.context import WorkerContext
from holdfast.worker.spec import WorkerSpec
from holdfast_config import Settings

# Each worker declares the schedules that the application's code defines, unless they are declared already.
#
# A schedule that another application declares is asked for again, less and less often: it may move from that code to
# this, or the application gets another name.

FIRST_WAIT = 1.0  # seconds, then twice as long each time
LONGEST_WAIT = 30.0  # seconds

_log = structlog.get_logger("holdfast.worker")


@dataclass(slots=True)
class DeclaredSchedules:
    context: WorkerContext
    handler: Handler

    async def serve(self) -> None:
        """Declare the schedules of the code; returns when no other application owns one of them, or the worker
        drains."""
        if not self.handler.schedules:
            return
        foreign = await self._declare(self.handler.schedules)
        for schedule_id in foreign:
            _log.warning(
                "this schedule is also in the code of another application that runs: that one's declaration is kept",
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
        """Declare schedules; returns the ids that another application keeps."""
        foreign: list[str] = []
        for schedule_id in ids:
            answer = await self._put(schedule_id, asked)
            if answer == "foreign":
                foreign.append(schedule_id)
            elif asked is not None and answer in {"new", "changed", "same"}:
                _log.info("this schedule is no longer another application's", schedule=schedule_id)
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
        except InvalidScheduleError as error:  # its last date may have passed: the worker serves its tasks still
            _log.warning("a schedule of the code cannot be declared", schedule=schedule_id, reason=str(error))
            return ""


# Publishes this worker's handlers in the store, so that forms and APIs know the arguments of each.

AT_ONCE = 65_536  # bytes of one call of the store
PUBLISHER = 0  # the slot whose worker publishes: all of a pool have the same handlers


@dataclass(slots=True)
class HandlerPublisher:
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
class Registration:
    context: WorkerContext
    handler: Handler

    async def register(self) -> None:
        """Register; a refusal ends this worker: the store has declared it dead already, or its id is in use."""
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
            self.context.retries.is_cut = True  # this store may be an earlier moment of the one it knew
            await self.register()
            self.context.state.want_renewal()
