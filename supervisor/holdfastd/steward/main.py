"""The steward process, from the fork to its exit status."""

from __future__ import annotations

import faulthandler
import signal
import socket

import anyio
import structlog

from holdfast.broker import open_store
from holdfast.channel_client import ParentLink
from holdfast.exits import ChildExit
from holdfastd.steward.life import Life
from holdfastd.steward.recovery import Recovered
from holdfastd.steward.spec import StewardSpec

SAY_GOODBYE = 1.0  # seconds for the last messages to reach the parent

_log = structlog.get_logger("holdfast.steward")


def run(spec: StewardSpec, channel: socket.socket, recovered: Recovered | None = None) -> int:
    """Be the steward until it is to end; the exit status. `recovered` counts recovered tasks by cause."""
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    try:
        return anyio.run(_serve, spec, channel, recovered or _uncounted, backend_options={"use_uvloop": True})
    except Exception:
        _log.exception("the steward failed")
        return ChildExit.BUG


async def _serve(spec: StewardSpec, channel: socket.socket, recovered: Recovered) -> ChildExit:
    link = ParentLink(channel)
    async with open_store(spec.settings.redis) as store:
        code = await Life(spec, store, link, recovered).live()
        await link.flush(SAY_GOODBYE)
    return code


def _uncounted(_count: int, _cause: str) -> None:
    pass
