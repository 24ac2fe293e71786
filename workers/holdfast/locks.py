"""Locks that the kernel drops when their holder dies: an advisory flock on a file of their own."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def hold(path: Path) -> int | None:
    """Lock `path` for the life of this process; its descriptor, or None if somebody else holds it.

    Whoever may read the file may lock it, so it is for its owner alone; a link to somebody else's file is not followed.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        _make_private(descriptor)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        return None
    return descriptor


def _make_private(descriptor: int) -> None:
    """What an earlier version made for the group, too."""
    told = os.fstat(descriptor)
    if told.st_uid == os.geteuid() and told.st_mode & 0o077:
        os.fchmod(descriptor, 0o600)


def is_free(path: Path) -> bool:
    """Whether nobody holds `path` now."""
    descriptor = hold(path)
    if descriptor is None:
        return False
    os.close(descriptor)
    return True
