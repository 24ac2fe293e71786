"""`supervisor start` with SCHEDULER_TYPE=memory: runs worker, steward and store in one process."""

from __future__ import annotations

import faulthandler
import signal
import socket
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from holdfast.core.task_states import TERMINAL
from holdfast.core.words import counted
from holdfast.errors import HandlerError
from holdfast.exits import Exit
from holdfast.handler.choose import handler_of
from holdfast.handler.handler import Handler
from holdfast.handler.registry import settled
from holdfast.ipc.channel import Born, InProcessLink, Ready
from holdfast.os.forked_copy import leave_worker_at_fork
from holdfast.os.handlers_loop import run_handlers_loop
from holdfast.store.current_store import belong_to_process
from holdfast.store.memory import MemoryStore, serving
from holdfast.telemetry import GRPC, open_in_steward
from holdfast.telemetry.logs import sent_logs
from holdfast.worker import output_capture
from holdfast.worker.in_process import InProcessWorker, open_worker
from holdfast_config import Settings
from holdfast_config.standard_error import STREAM
from holdfastd.control.listening_socket import ListenError, ListeningSocket
from holdfastd.core.commands import Announce
from holdfastd.parent.start_checks import refusal
from holdfastd.parent.systemd_notify import Notifier
from holdfastd.single.signals import NO_MAIN_THREAD, end_threads, ended_at_once, heed, heeded, ping_watchdog, status
from holdfastd.steward.steward_process import Steward
from holdfastd.steward.steward_spec import StewardSpec


def run(settings: Settings, announce: Announce) -> int:
    """Execute the tasks that this process itself submits, until it is told to stop; returns the exit status."""
    faulthandler.register(signal.SIGUSR1, STREAM.descriptor(), all_threads=True)
    leave_worker_at_fork()
    if why_not := refusal(settings):
        announce(why_not, "error")
        return Exit.CONFIG
    if settings.capture_output:
        output_capture.install()
    with TemporaryDirectory(prefix="holdfast-") as folder:  # the lock files of other services' workers are not ours
        inside = settings.model_copy(update={"runtime_dir": Path(folder)})
        try:
            with ListeningSocket(settings.metrics).opened(announce) as listener, _sent_logs(settings):
                return _run(inside, announce, listener)
        except ListenError as error:
            announce(str(error), "error")
            return error.code
        except HandlerError as error:
            announce(f"{error.traceback}{error}", "error")
            return Exit.CONFIG


def _run(settings: Settings, announce: Announce, listener: socket.socket | None) -> int:
    """Import the handler, with the queue in place and without a running event loop, as everywhere. Then serve."""
    with serving(settings.queue_name) as store, ended_at_once(settings.runtime_dir):
        belong_to_process(settings, store)
        handler = handler_of(settings)
        handler.refuse_main_thread(NO_MAIN_THREAD)
        settings = settled(handler, settings, may_choose=True)
        boot = partial(_boot, settings, handler, store, announce, listener)
        return run_handlers_loop(boot, **settings.loop_options)


def _sent_logs(settings: Settings) -> AbstractContextManager[object]:
    return sent_logs(settings.otlp_endpoint, "holdfast-worker", grpc=settings.otlp_protocol == GRPC)


async def _boot(
    settings: Settings, handler: Handler, store: MemoryStore, announce: Announce, metrics: socket.socket | None
) -> int:
    with anyio.open_signal_receiver(*heeded()) as signals:
        async with open_worker(store, handler, settings) as worker, _steward(store, settings, metrics) as steward:
            steward.tell(Born(worker.incarnation))
            async with anyio.create_task_group() as group:
                group.start_soon(heed, signals, worker, settings.drain_timeout, announce)
                await _serve(settings, store, worker, announce)
                group.cancel_scope.cancel()
    return status(worker)


async def _serve(settings: Settings, store: MemoryStore, worker: InProcessWorker, announce: Announce) -> None:
    """Serve until the worker is drained."""
    systemd = Notifier()
    async with anyio.create_task_group() as group:
        group.start_soon(ping_watchdog, systemd)
        announce(f"1 worker ready, queue {settings.queue_name} in memory: when this process ends, nothing is kept")
        systemd.send(READY=1, STATUS="1 worker, queue in memory")
        await worker.drained.wait()
        systemd.send(STOPPING=1)
        await _tell_lost(store, announce)
        await end_threads(worker)
        group.cancel_scope.cancel()
    systemd.close()


@asynccontextmanager
async def _steward(
    store: MemoryStore, settings: Settings, metrics: socket.socket | None
) -> AsyncGenerator[InProcessLink]:
    """Run the same steward as for a pool of processes, while the block runs."""
    link = InProcessLink()
    telemetry = open_in_steward(settings, store.address)
    spec = StewardSpec(settings, first=True, metrics=metrics, has_pool=False)
    life = Steward(spec, store, link, telemetry, own_process=False)

    async def hear_out() -> None:
        while True:
            await link.hear()

    async with anyio.create_task_group() as group:
        group.start_soon(life.live)
        while not isinstance(await link.hear(), Ready):
            pass
        group.start_soon(hear_out)
        yield link
        group.cancel_scope.cancel()
    link.close()
    telemetry.shutdown()


async def _tell_lost(store: MemoryStore, announce: Announce) -> None:
    states = (await store.counts()).states
    if waiting := sum(number for state, number in states.items() if state not in TERMINAL):
        announce(f"{counted(waiting, 'task is', 'tasks are')} lost with the memory")
