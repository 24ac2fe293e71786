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

from holdfast.exits import Exit
from holdfast.worker.in_process import InProcessWorker
from holdfast_config.standard_error import STREAM
from holdfastd.core.announce import Announce
from holdfastd.parent.received_signals import is_ignored

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
