"""What an orphaned worker has started and left: its parent would have killed that, had it not been killed itself."""

from __future__ import annotations

import os
import signal
from contextlib import suppress

from holdfast import kin
from holdfast_config import names

ROUNDS = 5  # one may fork while we look; each round finds what the last one missed


def kill_leftovers(incarnation: str) -> int:
    """Kill all processes of this host that were started by this incarnation, which is gone; how many were seen."""
    mark = f"{names.INCARNATION}={incarnation}".encode()
    killed: set[int] = set()
    for _ in range(ROUNDS):
        found = kin.with_descendants(pid for pid in kin.everybody() if kin.carries(pid, [mark])) - killed
        if not found:
            break
        killed |= found
        for pid in found:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    return len(killed)
