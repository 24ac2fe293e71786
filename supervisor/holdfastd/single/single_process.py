"""`supervisor start` with SCHEDULER_TYPE=memory: runs a worker, a steward and the store in one process."""

from __future__ import annotations

import socket
from collections.abc import AsyncGenerator
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import anyio

from holdfast.core.task_states import TERMINAL
from holdfast.core.words import counted
from holdfast.exits import Exit
from holdfast.handler.handler import Handler
from holdfast.ipc.channel import Born, InProcessLink, Ready
from holdfast.store.current_store import belong_to_process
from holdfast.store.memory import MemoryStore, serving
from holdfast.telemetry.logs import sent_logs
from holdfast.telemetry.port import GRPC, open_in_steward
from holdfast.worker import output_capture
from holdfast.worker.in_process import open_worker
from holdfast_config import Settings
from holdfastd.control.listening_socket import ListenError, ListeningSocket
from holdfastd.core.commands import Announce
from holdfastd.parent.start_checks import refusal
from holdfastd.single.signals import ended_at_once, heeded, run_with_handler, serve_until_drained, status
from holdfastd.steward.steward_process import Steward
from holdfastd.steward.steward_spec import StewardSpec


def run(settings: Settings, announce: Announce) -> int:
    """Run the tasks that code in this process submits, until a signal stops the process. Returns the exit status."""
    if why_not := refusal(settings):
        announce(why_not, "error")
        return Exit.CONFIG
    if settings.capture_output:
        output_capture.install()
    with TemporaryDirectory(prefix="holdfast-") as folder:  # a folder of its own, without other services' lock files
        inside = settings.model_copy(update={"runtime_dir": Path(folder)})
        try:
            with ListeningSocket(settings.metrics).opened(announce) as listener, _sent_logs(settings):
                return _run(inside, announce, listener)
        except ListenError as error:
            announce(str(error), "error")
            return error.code


def _run(settings: Settings, announce: Announce, listener: socket.socket | None) -> int:
    """Import the handler when the queue exists already, because the import may submit tasks. Then serve."""
    with serving(settings.queue_name) as store, ended_at_once(settings.runtime_dir):
        belong_to_process(settings, store)
        return run_with_handler(settings, announce, partial(_boot, store, announce, listener))


def _sent_logs(settings: Settings) -> AbstractContextManager[object]:
    return sent_logs(settings.otlp_endpoint, "holdfast-worker", grpc=settings.otlp_protocol == GRPC)


async def _boot(
    store: MemoryStore, announce: Announce, metrics: socket.socket | None, settings: Settings, handler: Handler
) -> int:
    with anyio.open_signal_receiver(*heeded()) as signals:
        async with open_worker(store, handler, settings) as worker, _steward(store, settings, metrics) as steward:
            steward.tell(Born(worker.incarnation))
            await serve_until_drained(
                worker,
                signals,
                settings.drain_timeout,
                announce,
                ready=f"1 worker ready, queue {settings.queue_name} in memory: when this process ends, nothing is kept",
                state="1 worker, queue in memory",
                at_end=partial(_tell_lost, store, announce),
            )
    return status(worker)


@asynccontextmanager
async def _steward(
    store: MemoryStore, settings: Settings, metrics: socket.socket | None
) -> AsyncGenerator[InProcessLink]:
    """A context manager that runs the steward while its block runs. A pool has the same steward, in a process of its
    own."""
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
