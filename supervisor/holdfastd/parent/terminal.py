"""Detects that the terminal from which the service was started has been closed."""

from __future__ import annotations

import os

CONTROLLING = "/dev/tty"


class Terminal:
    """Notes at the start of the service if it has a controlling terminal."""

    def __init__(self) -> None:
        self._was_there = _is_there()

    def is_gone(self) -> bool:
        """True once the terminal has been closed; always False where there was none."""
        return self._was_there and not _is_there()


def _is_there() -> bool:
    try:
        os.close(os.open(CONTROLLING, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC))
    except OSError:
        return False
    return True
