"""What a dead child leaves behind: its process group, and descendants that fled from it by setsid.

The group is killed while its dead leader still holds the number. Those who fled became our children when the leader
died, as we are a subreaper; they carry its incarnation.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection, Iterator
from pathlib import Path

from holdfastd.parent.child import INCARNATION_VARIABLE

ROUNDS = 5  # a descendant may fork while we look; each round finds what the last one missed

TITLE = b"holdfast: "

_PROC = Path("/proc")


def kill_remains(pid: int, incarnation: str, known: Collection[int]) -> int:
    """Kill whatever this dead, not yet reaped child has left; how many processes were seen.

    `known`: pids of our living children, whose descendants are theirs to keep.
    """
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    killed: set[int] = set()
    for _ in range(ROUNDS):
        found = {fled for fled in _strangers(known) if _carries(fled, incarnation)} - killed
        if not found:
            break
        killed |= found
        for fled in found:
            with contextlib.suppress(OSError):
                os.kill(fled, signal.SIGKILL)
    return len(killed)


def _strangers(known: Collection[int]) -> Iterator[int]:
    """Children of ours that we have not forked, and their descendants."""
    waiting = [pid for pid in _children(os.getpid()) if pid not in known]
    while waiting:
        pid = waiting.pop()
        yield pid
        waiting += _children(pid)


def _children(pid: int) -> list[int]:
    """Of all its threads; nothing if it is gone."""
    found: list[int] = []
    with contextlib.suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            found += map(int, (task / "children").read_text("ascii").split())
    return found


def _carries(pid: int, incarnation: str) -> bool:
    """In the environment of what was executed, in the title of what was only forked."""
    folder = _PROC / str(pid)
    try:
        environment, title = (folder / "environ").read_bytes(), (folder / "cmdline").read_bytes()
    except OSError:
        return False
    is_forked = title.startswith(TITLE) and incarnation.encode() in title
    return is_forked or f"{INCARNATION_VARIABLE}={incarnation}".encode() in environment.split(b"\0")
