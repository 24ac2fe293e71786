"""Kills the processes that a command started in sessions of their own, once the command has ended.

Orphans become children of the supervisor's parent, which adopts them. Those in our session are its workers and its
other children. Of the rest, those that carry the marks in their environment are killed, with all their descendants.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Collection
from contextlib import suppress

from holdfast.os import processes

ROUNDS = 5  # one may fork while we look; each round finds what the last one missed


def kill_escaped(marks: Collection[bytes]) -> None:
    killed: set[int] = set()
    for _ in range(ROUNDS):
        found = {pid for pid in processes.children(os.getppid()) if _is_foreign(pid) and processes.carries(pid, marks)}
        family = processes.with_descendants(found) - killed
        if not family:
            return
        killed |= family
        for pid in family:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def _is_foreign(pid: int) -> bool:
    try:
        return os.getsid(pid) != os.getsid(0)
    except OSError:
        return False
