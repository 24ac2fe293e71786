"""Sets the command line that `ps` shows of a child, by overwriting it in place.

The title names the incarnation, so it also marks processes that the child forks without exec: their environment is the
one that their grandparent started with, but this memory is a copy of the child's.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

_ARG_START = 48 - 3  # fields of proc(5) stat, counted from the first one after the name
_STAT = Path("/proc/self/stat")


def set_title(title: str) -> bool:
    """Show `title`, cut to the available bytes; False, and nothing has changed, where the kernel does not tell their
    place."""
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
