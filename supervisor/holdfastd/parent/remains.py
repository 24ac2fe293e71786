"""What a dead child leaves behind: its process group, and descendants that fled from it by setsid.

The group is killed while its dead leader still holds the number. Those who fled became our children when the leader
died, as we are a subreaper; they carry its incarnation, or came from one that does.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection

from holdfast import kin
from holdfastd.parent.child import INCARNATION_VARIABLE

ROUNDS = 5  # a descendant may fork while we look; each round finds what the last one missed

TITLE = b"holdfast: "


def kill_remains(pid: int, incarnation: str, known: Collection[int]) -> int:
    """Kill whatever this dead, not yet reaped child has left; how many processes were seen.

    `known`: pids of our living children, whose descendants are theirs to keep.
    """
    with contextlib.suppress(OSError):
        os.killpg(pid, signal.SIGKILL)
    killed: set[int] = set()
    for _ in range(ROUNDS):
        strangers = kin.with_descendants(child for child in kin.children(os.getpid()) if child not in known)
        carriers = [each for each in strangers if _carries(each, incarnation)]
        found = kin.with_descendants(carriers) - killed
        if not found:
            break
        killed |= found
        for fled in found:
            with contextlib.suppress(OSError):
                os.kill(fled, signal.SIGKILL)
    return len(killed)


def _carries(pid: int, incarnation: str) -> bool:
    """In the environment of what was executed, in the title of what was only forked."""
    title = kin.title(pid)
    is_forked = title.startswith(TITLE) and incarnation.encode() in title
    return is_forked or kin.carries(pid, [f"{INCARNATION_VARIABLE}={incarnation}".encode()])
