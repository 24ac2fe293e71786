"""What a dead child leaves behind: its process group, and descendants that fled from it by setsid.

The group is killed while its dead leader still holds the number. Those who fled became our children when the leader
died, as we are a subreaper; they carry its incarnation, or came from one that does.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection

from holdfast.os import processes

ROUNDS = 5  # a descendant may fork while we look; each round finds what the last one missed


def kill_remains(pid: int, incarnation: str, known: Collection[int]) -> int:
    """Kill whatever this dead, not yet reaped child has left; how many processes were seen.

    `known`: pids of our living children, whose descendants are theirs to keep.
    """
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    killed: set[int] = set()
    for _ in range(ROUNDS):
        strangers = processes.with_descendants(child for child in processes.children(os.getpid()) if child not in known)
        carriers = [each for each in strangers if processes.carries_incarnation(each, incarnation)]
        found = processes.with_descendants(carriers) - killed
        if not found:
            break
        killed |= found
        for fled in found:
            with contextlib.suppress(OSError):
                os.kill(fled, signal.SIGKILL)
    return len(killed)
