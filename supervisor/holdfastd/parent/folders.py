"""The folders of the service, for its owner and its group."""

from __future__ import annotations

import errno
from pathlib import Path

from holdfast.exits import Exit
from holdfastd.store.directory import FULL

LOCK = "supervisor.lock"
INCARNATIONS = "incarnations"
MODE = 0o750


def status(error: OSError) -> Exit:
    """What the service ends with when a folder cannot be used; below systemd most of the disk is read-only."""
    if error.errno in FULL:
        return Exit.UNAVAILABLE
    return Exit.PERMISSION if error.errno in {errno.EACCES, errno.EPERM, errno.EROFS} else Exit.CONFIG


def make(runtime_dir: Path, state_dir: Path) -> None:
    """Create what is missing. Raises OSError."""
    for folder in (runtime_dir, state_dir, runtime_dir / INCARNATIONS):
        folder.mkdir(MODE, parents=True, exist_ok=True)
