"""Other processes as the kernel shows them: whose children they are, what their environment said when they began."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

from holdfast_config import names

_PROC = Path("/proc")
_TITLE = b"holdfast: "


def children(pid: int) -> list[int]:
    """Of all its threads; nothing if it is gone."""
    found: list[int] = []
    with suppress(OSError):
        for task in (_PROC / str(pid) / "task").iterdir():
            found += map(int, (task / "children").read_text("ascii").split())
    return found


def with_descendants(pids: Iterable[int]) -> set[int]:
    """These and all that came from them, as far as the line of parents has not broken."""
    found: set[int] = set()
    waiting = list(pids)
    while waiting:
        pid = waiting.pop()
        if pid not in found:
            found.add(pid)
            waiting += children(pid)
    return found


def everybody() -> list[int]:
    """All processes of this host."""
    return [int(entry.name) for entry in _PROC.iterdir() if entry.name.isdigit()]


def carries(pid: int, marks: Collection[bytes]) -> bool:
    """Whether all these NAME=value stand in the environment that it was executed with; no, if it is not ours to see."""
    try:
        environment = (_PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False
    return all(mark in environment for mark in marks)


def title(pid: int) -> bytes:
    """Its command line, or what it has made of it; nothing if it is gone."""
    try:
        return (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return b""


def carries_incarnation(pid: int, incarnation: str) -> bool:
    """In the environment of what was executed, in the title of what was only forked."""
    shown = title(pid)
    is_forked = shown.startswith(_TITLE) and incarnation.encode() in shown
    return is_forked or carries(pid, [f"{names.INCARNATION}={incarnation}".encode()])
