"""Kills the processes that a command started in sessions of their own, once the command has ended.

Orphans become children of the supervisor's parent, which adopts them. Those in our session are its workers and its
other children. Of the rest, those that carry the marks in their environment are killed, with all their descendants.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from holdfast.os import processes


def kill_escaped(marks: Collection[bytes]) -> None:
    """Kill the escaped processes of the command whose environment has these NAME=value."""
    processes.kill_all(lambda: _escaped(marks))


def _escaped(marks: Collection[bytes]) -> set[int]:
    adopted = processes.children(os.getppid())
    return processes.with_descendants(pid for pid in adopted if _is_foreign(pid) and processes.carries(pid, marks))


def _is_foreign(pid: int) -> bool:
    try:
        return os.getsid(pid) != os.getsid(0)
    except OSError:
        return False
