"""Runs the steward process, from the fork to its exit status."""

from __future__ import annotations

import faulthandler
import signal
import socket

import anyio
import structlog

from holdfast.exits import ChildExit
from holdfast.ipc.child_end import ParentLink
from holdfast.store import open_store
from holdfast.telemetry import GRPC, open_in_steward
from holdfast.telemetry.logs import SentLogs, sent_logs
from holdfast_config.standard_error import STREAM
from holdfastd.steward.spec import StewardSpec
from holdfastd.steward.steward import Steward

SAY_GOODBYE = 1.0  # seconds for the last messages to reach the parent

_log = structlog.get_logger("holdfast.steward")


def run(spec: StewardSpec, channel: socket.socket) -> int:
    """Run the steward until it is told to end; its exit status."""
    faulthandler.register(signal.SIGUSR1, STREAM.descriptor(), all_threads=True)
    settings = spec.settings
    with sent_logs(settings.otlp_endpoint, "holdfast-steward", grpc=settings.otlp_protocol == GRPC) as logs:
        try:
            return anyio.run(_serve, spec, channel, logs, backend_options={"use_uvloop": True})
        except Exception:
            _log.exception("the steward failed")
            return ChildExit.BUG


async def _serve(spec: StewardSpec, channel: socket.socket, logs: SentLogs) -> ChildExit:
    link = ParentLink(channel)
    async with open_store(spec.settings.redis, spec.settings.postgres) as store:
        telemetry = open_in_steward(spec.settings, store.address)
        code = await Steward(spec, store, link, telemetry, log_of_parent=logs.relay).live()
        await link.flush(SAY_GOODBYE)
    logs.flush_beside(telemetry.shutdown)
    return code
