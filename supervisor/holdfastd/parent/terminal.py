"""The controlling terminal that the service was started from, if there was one."""

from __future__ import annotations

import os

CONTROLLING = "/dev/tty"


class Terminal:
    """Remembers whether there was a terminal when the service began."""

    def __init__(self) -> None:
        self._was_there = _is_there()

    def is_gone(self) -> bool:
        """True once the terminal has been closed; never where there was none."""
        return self._was_there and not _is_there()


def _is_there() -> bool:
    try:
        os.close(os.open(CONTROLLING, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
