"""Make this incarnation known to the store, at first and again whenever the store has lost it."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import anyio
import structlog

from holdfast.core.delivery import Standing
from holdfast.core.served import ServedLane, ServedLimits, ServedWork
from holdfast.core.tasks import Introduction
from holdfast.handler.handler import Handler
from holdfast.worker.context import WorkerContext
from holdfast.worker.lease_renewal import LeaseRenewal
from holdfast.worker.spec import WorkerSpec
from holdfast_config import Settings

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_log = structlog.get_logger("holdfast.worker")


def service(handler: Handler, settings: Settings) -> ServedWork:
    lanes = (ServedLane(lane.name, None if settings.strict else lane.weight, lane.timeout) for lane in settings.lanes)
    limits = ServedLimits(settings.max_attempts, settings.unknown_handler_timeout, settings.keep)
    return ServedWork(tuple(lanes), handler.names, limits, settings.application or "", frozenset(handler.schedules))


def introduction(spec: WorkerSpec, handler: Handler) -> Introduction:
    boot = BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
    served = service(handler, spec.settings)
    host = socket.gethostname()
    return Introduction(spec.incarnation, host, boot, os.getpid(), spec.slot, served, spec.kind, spec.halt)


@dataclass(slots=True)
class Registration:
    post: WorkerContext
    handler: Handler
    renewal: LeaseRenewal

    async def register(self) -> None:
        """Dead already: it was killed in the store's eyes before it could say a word. Taken: a bug elsewhere."""
        who = introduction(self.post.spec, self.handler)
        standing = await self.post.insist.call("register", lambda: self.post.store.register(who))
        if standing is Standing.OK:
            return
        _log.error("the store refuses this incarnation", standing=str(standing))
        self.post.fenced.set()

    async def serve(self) -> None:
        while True:
            await self.post.unknown.wait()
            self.post.unknown = anyio.Event()
            _log.warning("the store has lost this worker; it registers anew")
            await self.register()
            self.renewal.soon()
