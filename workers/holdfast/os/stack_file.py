"""The stacks of a worker's threads. SIGUSR2 writes them, even while the event loop hangs, to a file in memory that only
the worker's user can read."""

from __future__ import annotations

import faulthandler
import fcntl
import os
import signal
from pathlib import Path

NAME = "holdfast-stacks"
MOST_BYTES = 1 << 20  # that `read` returns


def register() -> None:
    """Have SIGUSR2 append the stacks of all threads of this process to its stack file."""
    descriptor = os.memfd_create(NAME)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)  # so that writing begins at the start of an emptied file
    faulthandler.register(signal.SIGUSR2, file=descriptor, all_threads=True)


def of_process(pid: int) -> Path | None:
    """The path of a process's stack file in /proc; None if it has none. Raises OSError if the process is gone or
    belongs to another user."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if str(link.readlink()).startswith(f"/memfd:{NAME}"):
                return link
        except FileNotFoundError:  # it was closed meanwhile
            continue
    return None


def read(path: Path) -> str:
    """The stacks in the file. These are only the stacks of the last SIGUSR2 if the file was emptied before the
    signal."""
    with path.open("rb") as file:
        return file.read(MOST_BYTES).decode("utf-8", "replace")
