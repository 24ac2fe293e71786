"""Locks that the kernel drops when their holder dies: an advisory flock on a file of their own."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def hold(path: Path) -> int | None:
    """Lock `path` for the life of this process; its descriptor, or None if somebody else holds it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o640)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def is_free(path: Path) -> bool:
    """Whether nobody holds `path` now."""
    descriptor = hold(path)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True
