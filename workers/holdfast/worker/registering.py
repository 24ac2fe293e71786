"""Make this incarnation known to the store, at first and again whenever the store has lost it."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from pathlib import Path

import anyio
import structlog

from holdfast.core.deliveries import Standing
from holdfast.core.records import Introduction
from holdfast.worker.post import Post
from holdfast.worker.renewing import Renewal
from holdfast.worker.spec import WorkerSpec

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")

_log = structlog.get_logger("holdfast.worker")


def introduction(spec: WorkerSpec) -> Introduction:
    boot = BOOT_ID.read_text().strip() if BOOT_ID.exists() else ""
    return Introduction(spec.incarnation, socket.gethostname(), boot, os.getpid(), spec.slot)


@dataclass(slots=True)
class Registration:
    post: Post
    renewal: Renewal

    async def register(self) -> None:
        """Dead already: it was killed in the store's eyes before it could say a word. Taken: a bug elsewhere."""
        who = introduction(self.post.spec)
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
