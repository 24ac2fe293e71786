"""Runs the web process of a supervisor, from the fork to its exit status, or by itself."""

from __future__ import annotations

import asyncio
import faulthandler
import signal
import socket

import structlog
import uvloop

from holdfast.exits import ChildExit
from holdfast.ipc.channel import Beat, Leave, Ready
from holdfast.ipc.child_end import ParentLink
from holdfast_config import Settings
from holdfast_config.standard_error import STREAM
from holdfastd.web.serve import serve

BEAT_EVERY = 1.0  # seconds

_log = structlog.get_logger("holdfast.web")


def run(settings: Settings, listener: socket.socket | None, channel: socket.socket) -> int:
    """Serve until told to leave, or until the parent is gone; the exit status."""
    assert listener is not None
    faulthandler.register(signal.SIGUSR1, STREAM.descriptor(), all_threads=True)
    try:
        return uvloop.run(_live(settings, listener, ParentLink(channel)))
    except Exception:
        _log.exception("the web process failed")
        return ChildExit.BUG


def run_alone(settings: Settings, listener: socket.socket) -> None:
    """Serve until SIGTERM or SIGINT."""

    async def live() -> None:
        stop, loop = asyncio.Event(), asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await serve(settings, listener, stop, lambda: None)

    uvloop.run(live())


async def _live(settings: Settings, listener: socket.socket, link: ParentLink) -> ChildExit:
    stop, ready = asyncio.Event(), asyncio.Event()
    heeding = asyncio.create_task(_heed_parent(link, stop))
    beating = asyncio.create_task(_report(link, ready))
    await serve(settings, listener, stop, ready.set)
    beating.cancel()
    return await heeding


async def _heed_parent(link: ParentLink, stop: asyncio.Event) -> ChildExit:
    message = await link.receive()
    while not isinstance(message, Leave | None):
        message = await link.receive()
    stop.set()
    return ChildExit.ORPHANED if message is None else ChildExit.OK


async def _report(link: ParentLink, ready: asyncio.Event) -> None:
    """Report ready and then heartbeats. Connections wait in the socket's queue until the application takes them."""
    await ready.wait()
    link.send(Ready())
    while True:
        link.send(Beat())
        await asyncio.sleep(BEAT_EVERY)
