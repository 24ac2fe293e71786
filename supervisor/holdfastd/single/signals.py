"""Signals to a service of one process: the first lets running tasks finish, a second hastens, a third kills.

SIGHUP says that the terminal was closed, often twice: it only ever begins the end.
"""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable

from holdfast.exits import Exit
from holdfast.worker.in_process import InProcessWorker
from holdfastd.parent.signal_socket import is_ignored


def heeded() -> tuple[signal.Signals, ...]:
    """The signals that this process is to heed: SIGHUP unless it was started to ignore it, as nohup does."""
    stopping = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)
    return stopping if is_ignored(signal.SIGHUP) else (*stopping, signal.SIGHUP)


async def heed(
    signals: AsyncIterator[signal.Signals],
    worker: InProcessWorker,
    drain_timeout: float,
    announce: Callable[[str], None],
) -> None:
    """For ever. `drain_timeout` in seconds."""
    asked = 0
    async for number in signals:
        if number == signal.SIGHUP and asked:
            continue
        asked = 3 if number == signal.SIGQUIT else asked + 1
        if asked == 1:
            announce(f"up to {drain_timeout:g} s for tasks that run; a second Ctrl-C cancels them, a third kills")
            worker.drain(drain_timeout)
        elif asked == 2:
            worker.hasten()
        else:
            os._exit(Exit.CUT_OFF)
