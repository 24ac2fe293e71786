"""Hosts that are quiet or halted, in words: loudly, as nothing else says why nothing starts."""

from __future__ import annotations

from holdfast.core.quiet_hosts import Quiet
from holdfastd.core.duration_words import duration


def line(one: Quiet, now_ms: int, seen: int = 0) -> str:
    """`seen`: the last halt that counts no more for the process that says this; 0: all count."""
    ago = duration(max(0, now_ms - one.since_ms) / 1000)
    spite = "; this process runs in spite of it" if one.is_halt and one.since_ms <= seen else ""
    word = "HALTED" if one.is_halt else "QUIET"
    return f"{word} for {ago}: {who(one)}; {one.by} said so: {one.reason}; to go on: {remedy(one)}{spite}"


def who(one: Quiet) -> str:
    if one.is_halt:
        return "no pool" + (" of any host" if one.is_all else f" of host {one.host}") + " claims a task or makes a fire"
    return "no host claims a task" if one.is_all else f"host {one.host} claims no task"


def remedy(one: Quiet) -> str:
    """The command that takes it back."""
    command = "supervisor control RESUME" if one.is_halt else "supervisor resume"
    return command if one.is_all else f"{command} --host {one.host}"
