"""Kills the processes that a dead child has left: its process group, and descendants that left it with setsid.

The group is killed while the dead leader still holds its number. Descendants outside it became children of the parent,
which is a subreaper; they carry the child's incarnation in their environment, or descend from a process that does.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection

from holdfast.os import processes

ROUNDS = 5  # a descendant may fork while we look; each round finds what the last one missed


def kill_leftovers(pid: int, incarnation: str, known: Collection[int]) -> int:
    """Kill every process that this dead, not yet reaped child has left; the number of processes found.

    `known`: pids of living children, whose descendants are kept.
    """
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    killed: set[int] = set()
    for _ in range(ROUNDS):
        adopted = processes.with_descendants(child for child in processes.children(os.getpid()) if child not in known)
        carriers = [child for child in adopted if processes.carries_incarnation(child, incarnation)]
        found = processes.with_descendants(carriers) - killed
        if not found:
            break
        killed |= found
        for fled in found:
            with contextlib.suppress(OSError):
                os.kill(fled, signal.SIGKILL)
    return len(killed)
