"""Signals to a service of one process: the first lets running tasks finish, a second cancels them, a third kills.

SIGHUP means that the terminal was closed, and often arrives twice: it only ever starts the drain.
"""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import AsyncIterator, Generator
from contextlib import contextmanager, suppress
from pathlib import Path

import anyio

from holdfast.exits import ChildExit, Exit
from holdfast.worker.exit_work import LEAST, do_exit_work
from holdfast.worker.in_process import InProcessWorker
from holdfast_config.standard_error import STREAM
from holdfastd.core.commands import Announce
from holdfastd.parent.received_signals import is_ignored
from holdfastd.parent.systemd_notify import Notifier

NO_MAIN_THREAD = "here the event loop has that thread: use `supervisor start` on a Redis, which forks workers"


def heeded() -> tuple[signal.Signals, ...]:
    """The signals that this process handles: SIGHUP unless it was started with it ignored, as nohup does."""
    stopping = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
    return stopping if is_ignored(signal.SIGHUP) else (*stopping, signal.SIGHUP)


@contextmanager
def ended_at_once(folder: Path | None = None) -> Generator[None]:
    """Within the block, a signal that stops ends the process, and removes this folder, as long as no event loop that
    the block runs takes the signals: nothing has begun. The line goes past `sys.stderr`: the signal may
    come in the midst of a write to it, which can hold no second one."""

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
    """Handle signals for ever. `drain_timeout` in seconds."""
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


# Ends a service of one process, once its worker is drained.

LAST_THREADS = 1.0  # seconds for threads, once everything else has ended


async def end_threads(worker: InProcessWorker) -> None:
    """Wait for handler threads; exit at once where one does not end, as it would keep the process alive."""
    with anyio.move_on_after(LAST_THREADS):
        await worker.over.wait()
    if not worker.over.is_set():
        do_exit_work(Exit.CUT_OFF, LEAST)
        os._exit(Exit.CUT_OFF)


def status(worker: InProcessWorker) -> int:
    """The exit status of the process."""
    if worker.code in (ChildExit.FENCED, ChildExit.STUCK):
        return Exit.CUT_OFF
    if worker.code is not ChildExit.OK:
        return Exit.BUG
    return Exit.CUT_OFF if worker.released else Exit.OK


# The systemd watchdog of a service of one process.


async def ping_watchdog(systemd: Notifier) -> None:
    """Sent from the loop that everything runs on: while the loop turns, the service is alive."""
    while systemd.watchdog is not None:
        systemd.send(WATCHDOG=1)
        await anyio.sleep(systemd.watchdog / 3)
