"""The line on suspects: tasks that ended their workers and wait for a quarantine worker."""

from __future__ import annotations

from holdfast.core.plurals import counted
from holdfastd.control.socket_protocol import QuarantineStatus


def words(status: QuarantineStatus) -> str:
    """One line; empty if no suspect waits."""
    if not status.waiting:
        return ""
    wait = counted(status.waiting, "suspect waits", "suspects wait")
    most = "1 quarantine worker runs" if status.most == 1 else f"at most {status.most} quarantine workers run"
    reason = f"none is started: {status.held_back}" if status.held_back else f"{most} one at a time"
    return f"quarantine: {wait}; {reason}"
