"""The watchdog of a service of one process."""

from __future__ import annotations

import anyio

from holdfastd.parent.systemd_notify import Notifier


async def pat(systemd: Notifier) -> None:
    """From the loop that everything runs on: while it turns, the service is alive."""
    while systemd.watchdog is not None:
        systemd.tell(WATCHDOG=1)
        await anyio.sleep(systemd.watchdog / 3)
