"""A service of one process: its signals, and its worker, from the import of the handler to the exit status.

At the first stop signal running tasks may finish. A second one cancels them, a third one ends the process. SIGHUP means
that the terminal was closed. It often arrives twice, so it only starts the drain.
"""

from __future__ import annotations

import faulthandler
import os
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel

from holdfast.errors import HandlerError
from holdfast.exits import ChildExit, Exit
from holdfast.handler.choose import handler_of
from holdfast.handler.handler import Handler
from holdfast.handler.registry import settled
from holdfast.os.forked_copy import leave_worker_at_fork
from holdfast.os.handlers_loop import run_handlers_loop
from holdfast.worker.exit_work import LEAST, do_exit_work
from holdfast.worker.in_process import InProcessWorker
from holdfast_config import Settings
from holdfast_config.standard_error import STREAM
from holdfastd.core.commands import Announce
from holdfastd.parent.received_signals import is_ignored
from holdfastd.parent.systemd_notify import Notifier

NO_MAIN_THREAD = "here the event loop has that thread: use `supervisor start` on a Redis, which forks workers"


def heeded() -> tuple[signal.Signals, ...]:
    """The signals that this process handles. SIGHUP is among them unless the process was started with SIGHUP ignored,
    for example by nohup."""
    stopping = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
    return stopping if is_ignored(signal.SIGHUP) else (*stopping, signal.SIGHUP)


@contextmanager
def ended_at_once(folder: Path | None = None) -> Generator[None]:
    """A context manager: while its block runs, a stop signal ends the process at once and removes `folder`. This is for
    the time before an event loop handles the signals, when no task has begun. The handler writes its line to the
    descriptor, not to `sys.stderr`, because the signal may interrupt a write to `sys.stderr`."""

    def end(_number: int, _frame: object) -> None:
        with suppress(OSError):
            STREAM.write(b"supervisor: stopped while the handler was imported\n")
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
        os._exit(Exit.OK)

    before = {number: signal.signal(number, end) for number in heeded()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


async def heed(
    signals: AsyncIterator[signal.Signals],
    worker: InProcessWorker,
    drain_timeout: float,
    announce: Announce,
) -> None:
    """Handle stop signals for ever. The first drains the worker, within `drain_timeout` seconds; the second cancels its
    tasks; the third, or SIGQUIT at once, kills this process. A SIGHUP after the first signal is ignored."""
    received = 0
    async for number in signals:
        if number == signal.SIGHUP and received:
            continue
        received = 3 if number == signal.SIGQUIT else received + 1
        if received == 1:
            announce(f"up to {drain_timeout:g} s for tasks that run; a second Ctrl-C cancels them, a third kills")
            worker.drain(drain_timeout)
        elif received == 2:
            worker.hasten()
        else:
            os._exit(Exit.CUT_OFF)


# The worker of a service of one process.


def run_with_handler(
    settings: Settings, announce: Announce, serve: Callable[[Settings, Handler], Coroutine[Any, Any, int]]
) -> int:
    """Import the handler before an event loop runs, as all workers do. Then run `serve` with the settings, which the
    handler may have changed. Returns the exit status."""
    faulthandler.register(signal.SIGUSR1, STREAM.descriptor(), all_threads=True)
    leave_worker_at_fork()
    try:
        handler = handler_of(settings)
        handler.refuse_main_thread(NO_MAIN_THREAD)
        settings = settled(handler, settings, may_choose=True)
        return run_handlers_loop(partial(serve, settings, handler), **settings.loop_options)
    except HandlerError as error:
        announce(f"{error.traceback}{error}", "error")
        return Exit.CONFIG


async def serve_until_drained(
    worker: InProcessWorker,
    signals: AsyncIterator[signal.Signals],
    drain_timeout: float,
    announce: Announce,
    *,
    ready: str,
    state: str,
    at_end: Callable[[], Awaitable[object]] = anyio.lowlevel.checkpoint,
) -> None:
    """Serve until the worker is drained: handle signals, and tell systemd the state. `ready`: the line that is printed
    when the worker is ready; `state`: a shorter one for systemd. `at_end` runs when the worker is drained."""
    systemd = Notifier()
    async with anyio.create_task_group() as group:
        group.start_soon(heed, signals, worker, drain_timeout, announce)
        group.start_soon(ping_watchdog, systemd)
        announce(ready)
        systemd.send(READY=1, STATUS=state)
        await worker.drained.wait()
        systemd.send(STOPPING=1)
        await at_end()
        await end_threads(worker)
        group.cancel_scope.cancel()
    systemd.close()


LAST_THREADS = 1.0  # seconds that handler threads have to end, when everything else has ended


async def end_threads(worker: InProcessWorker) -> None:
    """Wait for handler threads to end. If one does not, exit at once, because the thread would keep the process
    alive."""
    with anyio.move_on_after(LAST_THREADS):
        await worker.over.wait()
    if not worker.over.is_set():
        do_exit_work(Exit.CUT_OFF, LEAST)
        os._exit(Exit.CUT_OFF)


def status(worker: InProcessWorker) -> int:
    """The exit status of the process, from the status of its worker."""
    if worker.code in (ChildExit.FENCED, ChildExit.STUCK):
        return Exit.CUT_OFF
    if worker.code is not ChildExit.OK:
        return Exit.BUG
    return Exit.CUT_OFF if worker.released else Exit.OK


# The systemd watchdog of a service of one process.


async def ping_watchdog(systemd: Notifier) -> None:
    """Ping the watchdog for ever, from the event loop on which the whole service runs. If the loop hangs, the pings
    stop."""
    while systemd.watchdog is not None:
        systemd.send(WATCHDOG=1)
        await anyio.sleep(systemd.watchdog / 3)
