"""Waiting for what another process does, with a limit."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(happened: Callable[[], bool], seconds: float, what: str, every: float = 0.005) -> None:
    """Look again and again; TimeoutError names `what` did not happen."""
    deadline = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(every)
