"""Priorities of lines for the journal of systemd: `<3>` before a line is its level (sd-daemon(3))."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress

_PRIORITIES: Mapping[str, int] = {"debug": 7, "info": 6, "warning": 4, "error": 3, "critical": 2}


def is_journal(descriptor: int, environ: Mapping[str, str] = os.environ) -> bool:
    """True if what is written to this descriptor goes to the journal: systemd names it in JOURNAL_STREAM."""
    device, _, inode = environ.get("JOURNAL_STREAM", "").partition(":")
    with suppress(OSError, ValueError):
        found = os.fstat(descriptor)
        return (int(device), int(inode)) == (found.st_dev, found.st_ino)
    return False


def prioritised(text: str, level: str) -> str:
    """The text with the priority of this level before each of its lines."""
    mark = f"<{_PRIORITIES.get(level, 6)}>"
    return "\n".join(mark + line for line in text.split("\n"))
