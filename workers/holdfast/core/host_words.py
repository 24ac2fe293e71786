"""Describes quiet and halted hosts for people."""

from __future__ import annotations

from holdfast.core.duration_words import duration
from holdfast.core.quiet_hosts import Quiet


def line(mark: Quiet, now_ms: int, seen: int = 0) -> str:
    """A line about one mark. `seen`: the last halt that no longer applies to this process; 0: all halts apply."""
    ago = duration(max(0, now_ms - mark.since_ms) / 1000)
    spite = "; this process runs nevertheless" if mark.is_halt and mark.since_ms <= seen else ""
    word = "HALTED" if mark.is_halt else "QUIET"
    return f"{word} for {ago}: {who(mark)}; by order of {mark.by} ({mark.reason}); to end it: {remedy(mark)}{spite}"


def who(mark: Quiet) -> str:
    if mark.is_halt:
        return (
            "no pool" + (" of any host" if mark.is_all else f" of host {mark.host}") + " claims a task or makes a fire"
        )
    return "no host claims a task" if mark.is_all else f"host {mark.host} claims no task"


def remedy(mark: Quiet) -> str:
    """The command that removes the mark."""
    command = "supervisor control RESUME" if mark.is_halt else "supervisor resume"
    return command if mark.is_all else f"{command} --host {mark.host}"
