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


def kill_leftovers(pid: int, incarnation: str, known: Collection[int]) -> int:
    """Kill every process that this dead, not yet reaped child has left; the number of processes found.

    `known`: pids of living children, whose descendants are kept.
    """
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    return len(processes.kill_all(lambda: _fled_from(incarnation, known)))


def _fled_from(incarnation: str, known: Collection[int]) -> set[int]:
    adopted = processes.with_descendants(child for child in processes.children(os.getpid()) if child not in known)
    return processes.with_descendants(pid for pid in adopted if processes.carries_incarnation(pid, [incarnation]))
