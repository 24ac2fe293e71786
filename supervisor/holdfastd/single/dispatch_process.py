"""`supervisor dispatch`: a steward without a supervisor. It has the same duties, for workers of any host. No parent
restarts it.
"""

from __future__ import annotations

import faulthandler
import signal
import socket
import time
from contextlib import AbstractContextManager

import anyio

from holdfast.client.submit_retries import SubmitRetries
from holdfast.exits import ChildExit
from holdfast.ipc.channel import BootFailed, InProcessLink, Leave, Ready
from holdfast.store import open_store
from holdfast.telemetry.logs import sent_logs
from holdfast.telemetry.port import GRPC, open_in_steward
from holdfast_config import Settings
from holdfast_config.standard_error import STREAM
from holdfastd.control.listening_socket import ListenError, ListeningSocket
from holdfastd.core.commands import Announce
from holdfastd.parent.systemd_notify import Notifier
from holdfastd.single.signals import ping_watchdog
from holdfastd.steward.duties.host_duties import halt_watch
from holdfastd.steward.duty import Health, run_duty
from holdfastd.steward.steward_process import LEAVE_WITHIN, Steward
from holdfastd.steward.steward_spec import StewardSpec


def run(settings: Settings, announce: Announce) -> int:
    """Run the steward until it is told to stop; returns the exit status."""
    faulthandler.register(signal.SIGUSR1, STREAM.descriptor(), all_threads=True)
    try:
        with ListeningSocket(settings.metrics).opened(announce) as listener, _sent_logs(settings):
            return anyio.run(_serve, settings, announce, listener, backend_options={"use_uvloop": True})
    except ListenError as error:
        announce(str(error), "error")
        return error.code


def _sent_logs(settings: Settings) -> AbstractContextManager[object]:
    return sent_logs(settings.otlp_endpoint, "holdfast-steward", grpc=settings.otlp_protocol == GRPC)


async def _serve(settings: Settings, announce: Announce, metrics: socket.socket | None) -> int:
    link, systemd = InProcessLink(), Notifier()
    code = ChildExit.BUG

    def end_at_halt(words: str) -> None:
        announce(words)
        link.tell(Leave(time.monotonic() + LEAVE_WITHIN))

    async with open_store(settings.redis, settings.postgres) as store:
        telemetry = open_in_steward(settings, store.address)
        seen = await SubmitRetries().call(store.last_halt, socket.gethostname())
        spec = StewardSpec(settings, first=True, halt=seen, metrics=metrics, has_pool=False)
        async with anyio.create_task_group() as group:
            group.start_soon(_hear_out, link, settings, announce, systemd)
            group.start_soon(ping_watchdog, systemd)
            group.start_soon(run_duty, halt_watch(store, spec.halts, end_at_halt), Health())
            code = await Steward(spec, store, link, telemetry).live()
            group.cancel_scope.cancel()
    systemd.send(STOPPING=1)
    systemd.close()
    telemetry.shutdown()
    return int(code)


async def _hear_out(link: InProcessLink, settings: Settings, announce: Announce, systemd: Notifier) -> None:
    """Read the steward's messages for ever, in place of a parent."""
    while True:
        match await link.hear():
            case Ready():
                announce(f"1 steward ready, queue {settings.queue_name}")
                systemd.send(READY=1, STATUS=f"dispatching for {settings.queue_name}")
            case BootFailed() as failed:
                announce(failed.error, "error")
            case _:
                pass
