"""Kills the processes that an orphaned worker has started; its parent would have done so, but was killed itself."""

from __future__ import annotations

import os

from holdfast.os import processes


def kill_orphans(incarnation: str) -> int:
    """Kill all processes of this host that this dead incarnation has started or forked; the number of processes
    found."""
    return processes.kill_all(lambda: _left_by(incarnation))


def _left_by(incarnation: str) -> set[int]:
    others = (pid for pid in processes.everybody() if pid != os.getpid())
    return processes.with_descendants(pid for pid in others if processes.carries_incarnation(pid, incarnation))
