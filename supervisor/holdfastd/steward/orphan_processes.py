"""Kills the processes that orphaned workers have started; their parent would have done so, but was killed itself."""

from __future__ import annotations

import os
from collections.abc import Collection

from holdfast.os import processes


def kill_orphans(incarnations: Collection[str]) -> int:
    """Kill all processes of this host that these dead incarnations have started or forked; the number of processes
    found. Each process of the host is looked at, which takes longer than all the rest of a recovery."""
    return processes.kill_all(lambda: _left_by(incarnations))


def _left_by(incarnations: Collection[str]) -> set[int]:
    others = (pid for pid in processes.everybody() if pid != os.getpid())
    return processes.with_descendants(pid for pid in others if processes.carries_incarnation(pid, incarnations))
