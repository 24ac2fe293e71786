"""Registers this worker's incarnation in the store, and again whenever the store has lost it."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, replace

import anyio
import structlog

from holdfast.core.delivery import Standing
from holdfast.core.served import ServedLane, ServedLimits, ServedWork
from holdfast.core.tasks import Introduction
from holdfast.handler.handler import Handler
from holdfast.os.boot_id import boot_id
from holdfast.worker.context import WorkerContext
from holdfast.worker.handler_publisher import HandlerPublisher
from holdfast.worker.spec import WorkerSpec
from holdfast_config import Settings

_log = structlog.get_logger("holdfast.worker")


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
