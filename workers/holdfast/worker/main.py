"""The worker process, from the fork to its exit status."""

from __future__ import annotations

import faulthandler
import signal
import socket
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

import anyio
import structlog

from holdfast.broker import open_store
from holdfast.broker.port import WorkerStore
from holdfast.channel import BootFailed
from holdfast.channel_client import ParentLink
from holdfast.core.exchange import Exchange
from holdfast.errors import HandlerError
from holdfast.exits import ChildExit
from holdfast.handler.resolve import resolve
from holdfast.telemetry import open_telemetry
from holdfast.worker.life import Life
from holdfast.worker.lockfile import hold_lock
from holdfast.worker.post import Post
from holdfast.worker.spec import WorkerSpec
from holdfast_config import RedisSettings

SAY_GOODBYE = 1.0  # seconds for the last messages to reach the parent

_log = structlog.get_logger("holdfast.worker")


OpenStore = Callable[[RedisSettings], AbstractAsyncContextManager[WorkerStore]]


def run(spec: WorkerSpec, channel: socket.socket, opened: OpenStore = open_store) -> int:
    """Be this worker, on the store that `opened` gives, until it is to end; the exit status."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    try:
        hold_lock(spec)
        return anyio.run(_serve, spec, channel, opened, backend_options={"use_uvloop": True})
    except Exception:
        _log.exception("the worker failed")
        return ChildExit.BUG


async def _serve(spec: WorkerSpec, channel: socket.socket, opened: OpenStore) -> int:
    link = ParentLink(channel)
    try:
        handler = resolve(spec.settings.handler, spec.settings.app_dir)
    except HandlerError as error:
        link.send(BootFailed(ChildExit.BOOT_FAILED, str(error), error.traceback))
        await link.flush(SAY_GOODBYE)
        return ChildExit.BOOT_FAILED
    telemetry = open_telemetry(spec.settings.otlp_endpoint, "holdfast-worker", spec.settings.otlp_protocol)
    code = ChildExit.BUG
    async with opened(spec.settings.redis) as store, anyio.create_task_group() as group:
        post = Post(spec, store, Exchange(spec.settings.concurrency))
        code = await Life(post, handler, link, telemetry, group).live()
        await link.flush(SAY_GOODBYE)
        group.cancel_scope.cancel()
    telemetry.shutdown()
    return code
