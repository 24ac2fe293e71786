"""The lines that a service prints for the person who started it."""

from __future__ import annotations

from typing import Protocol


class Announce(Protocol):
    """Prints one line on standard error. `level`: `info`, or `error` where the service ends or cannot start."""

    def __call__(self, text: str, level: str = "info") -> None: ...
