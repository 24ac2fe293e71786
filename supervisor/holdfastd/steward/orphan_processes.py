"""Kills the processes that dead workers have started; their parent would have done so, but was killed itself, or stands
still."""

from __future__ import annotations

import os
from collections.abc import Collection

from holdfast.os import processes


def kill_orphans(incarnations: Collection[str], leaders: Collection[int] = ()) -> set[int]:
    """Kill all processes of this host that these dead incarnations have started or forked; those that were found.
    `leaders`: dead workers that nobody has reaped, whose process groups are killed as well.

    Each process of the host is looked at, which takes longer than all the rest of a recovery."""
    return processes.kill_all(lambda: _left_by(incarnations, leaders))


def _left_by(incarnations: Collection[str], leaders: Collection[int]) -> set[int]:
    others = (pid for pid in processes.everybody() if pid != os.getpid() and pid not in leaders)
    return processes.with_descendants(pid for pid in others if _is_left(pid, incarnations, leaders))


def _is_left(pid: int, incarnations: Collection[str], leaders: Collection[int]) -> bool:
    in_group = bool(leaders) and processes.group(pid) in leaders and processes.runs(pid)
    return in_group or processes.carries_incarnation(pid, incarnations)
