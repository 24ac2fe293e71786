"""The systemd watchdog of a service of one process."""

from __future__ import annotations

import anyio

from holdfastd.parent.systemd_notify import Notifier


async def ping_watchdog(systemd: Notifier) -> None:
    """Sent from the loop that everything runs on: while the loop turns, the service is alive."""
    while systemd.watchdog is not None:
        systemd.send(WATCHDOG=1)
        await anyio.sleep(systemd.watchdog / 3)
