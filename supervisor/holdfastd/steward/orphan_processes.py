"""Kills the processes that an orphaned worker has started; its parent would have done so, but was killed itself."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from holdfast.os import processes

ROUNDS = 5  # one may fork while we look; each round finds what the last one missed


def kill_orphans(incarnation: str) -> int:
    """Kill all processes of this host that this dead incarnation has started or forked; the number of processes
    found."""
    killed: set[int] = set()
    for _ in range(ROUNDS):
        found = processes.with_descendants(pid for pid in processes.everybody() if _is_left(pid, incarnation)) - killed
        if not found:
            break
        killed |= found
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    return len(killed)


def _is_left(pid: int, incarnation: str) -> bool:
    return pid != os.getpid() and processes.carries_incarnation(pid, incarnation)
