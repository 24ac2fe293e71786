"""Signals to a service of one process: the first lets running tasks finish, a second cancels them, a third kills.

SIGHUP means that the terminal was closed, and often arrives twice: it only ever starts the drain.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator

from holdfast.exits import Exit
from holdfast.worker.in_process import InProcessWorker
from holdfastd.core.announce import Announce
from holdfastd.parent.received_signals import is_ignored


def heeded() -> tuple[signal.Signals, ...]:
    """The signals that this process handles: SIGHUP unless it was started with it ignored, as nohup does."""
    stopping = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
    return stopping if is_ignored(signal.SIGHUP) else (*stopping, signal.SIGHUP)


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
