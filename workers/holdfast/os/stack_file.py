"""The stacks of a worker in memory that only its user can read: SIGUSR2 writes them, also while its loop hangs."""

from __future__ import annotations

import faulthandler
import fcntl
import os
import signal
from pathlib import Path

NAME = "holdfast-stacks"
MOST_BYTES = 1 << 20  # that are read


def register() -> None:
    """From now on SIGUSR2 adds the stacks of all threads of this process."""
    descriptor = os.memfd_create(NAME)
    fcntl.fcntl(descriptor, fcntl.F_SETFL, os.O_APPEND)  # so that what follows an emptied file begins at its start
    faulthandler.register(signal.SIGUSR2, file=descriptor, all_threads=True)


def of_process(pid: int) -> Path | None:
    """Opens the stack file of a process; None if it has none. Raises OSError if the process is gone or belongs to
    another user."""
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            if str(link.readlink()).startswith(f"/memfd:{NAME}"):
                return link
        except FileNotFoundError:  # it was closed meanwhile
            continue
    return None


def read(path: Path) -> str:
    """The stacks of the last SIGUSR2."""
    with path.open("rb") as file:
        return file.read(MOST_BYTES).decode("utf-8", "replace")
