"""Signals to a service of one process: the first lets running tasks finish, a second hastens, a third kills."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncIterator, Callable

from holdfast.exits import Exit
from holdfast.worker.inside import Inside

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGQUIT)


async def heed(
    signals: AsyncIterator[signal.Signals], worker: Inside, drain_timeout: float, announce: Callable[[str], None]
) -> None:
    """For ever. `drain_timeout` in seconds."""
    asked = 0
    async for number in signals:
        asked = 3 if number == signal.SIGQUIT else asked + 1
        if asked == 1:
            announce(f"up to {drain_timeout:g} s for tasks that run; a second Ctrl-C cancels them, a third kills")
            worker.drain(drain_timeout)
        elif asked == 2:
            worker.hasten()
        else:
            os._exit(Exit.CUT_OFF)
