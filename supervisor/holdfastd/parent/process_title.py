"""What `ps` shows of a child: its command line, written over in place.

It names the incarnation, so that it also marks what the child forks without exec: such a process has the environment
its grandparent was started with, but this memory is the child's own.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

_ARG_START = 48 - 3  # fields of proc(5) stat, counted from the first one after the name
_STAT = Path("/proc/self/stat")


def set_title(title: str) -> bool:
    """Show `title`, cut to the room there is; False, and nothing changed, where the kernel does not say where it is."""
    try:
        start, end = _place()
    except (OSError, ValueError, IndexError):
        return False
    if end - start < 2:
        return False
    room = end - start
    ctypes.memmove(start, title.encode()[: room - 1].ljust(room, b"\0"), room)
    return True


def _place() -> tuple[int, int]:
    fields = _STAT.read_text("utf-8", "replace").rpartition(")")[2].split()
    return int(fields[_ARG_START]), int(fields[_ARG_START + 1])
