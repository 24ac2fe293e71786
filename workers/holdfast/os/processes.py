"""Finds other processes in /proc, by their parents, command lines and environments, and kills them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Collection, Iterable
from contextlib import suppress
from pathlib import Path

from holdfast_config import names

ROUNDS = 5  # a process may fork while others are killed; each round finds what the last one missed

_PROC = Path("/proc")
_TITLE = b"holdfast: "
_ENDED = {"", "Z", "X", "x"}


def children(pid: int) -> list[int]:
    """The children of all threads of a process; none if the process is gone."""
    pids: list[int] = []
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            pids += map(int, (task / "children").read_text("ascii").split())
    return pids


def with_descendants(pids: Iterable[int]) -> set[int]:
    """These processes and all their descendants. A descendant whose parent has ended is not found."""
    reached: set[int] = set()
    waiting = list(pids)
    while waiting:
        pid = waiting.pop()
        if pid not in reached:
            reached.add(pid)
            waiting += children(pid)
    return reached


def everybody() -> list[int]:
    """The numbers of all processes of this host."""
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]


def carries(pid: int, marks: Collection[bytes]) -> bool:
    """True if the process was executed with all these NAME=value in its environment; False if this user may not read
    it."""
    environment = _environment(pid)
    return all(mark in environment for mark in marks)


def runs(pid: int) -> bool:
    """True if the process runs; False if it has ended, even if nobody has reaped it yet."""
    return _state(pid)[0] not in _ENDED


def unreaped_child(pid: int, parent: int) -> bool:
    """True if the process is a child of `parent`, has ended and was not reaped. Until it is reaped, no other process
    gets its number."""
    return _state(pid)[:2] == ("Z", parent)


def group(pid: int) -> int:
    """The process group of a process; 0 if the process is gone."""
    return _state(pid)[2]


def _state(pid: int) -> tuple[str, int, int]:
    """State, parent and process group of a process, see proc(5); ("", 0, 0) if it is gone."""
    try:
        fields = (_PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return fields[0].decode(), int(fields[1]), int(fields[2])
    except (OSError, IndexError, ValueError):
        return "", 0, 0


def title(pid: int) -> bytes:
    """The command line or title of a process; empty if it is gone."""
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


def carries_incarnation(pid: int, incarnations: Collection[str]) -> bool:
    """True if the process belongs to one of these incarnations. An executed program has the id in its environment, a
    forked process in its title."""
    shown = title(pid)
    if shown.startswith(_TITLE) and any(incarnation.encode() in shown for incarnation in incarnations):
        return True
    environment = _environment(pid)
    return any(f"{names.INCARNATION}={incarnation}".encode() in environment for incarnation in incarnations)


def _environment(pid: int) -> frozenset[bytes]:
    """Each NAME=value of the environment with which a process was executed; empty if this user may not read it."""
    try:
        return frozenset((_PROC / str(pid) / "environ").read_bytes().split(b"\0"))
    except OSError:
        return frozenset()


def kill_all(find: Callable[[], set[int]]) -> set[int]:
    """Kill the processes that `find` returns, until it returns no new ones; returns all found processes."""
    killed: set[int] = set()
    for _ in range(ROUNDS):
        others = find() - killed
        if not others:
            break
        killed |= others
        for pid in others:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
    return killed


# The id of this boot of the host.

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def boot_id() -> str:
    """The id of this boot of the host, different after each start; empty if the system has none."""
    return _BOOT_ID.read_text("ascii").strip() if _BOOT_ID.exists() else ""
