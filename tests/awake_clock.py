"""A clock for tests of what a process waits for: where the machine gives it no time, none passes."""

from __future__ import annotations

import threading
import time

TICK = 0.01  # seconds


class AwakeClock(threading.Thread):
    """Counts how often it could sleep since it was made."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._ticks = 0
        self.start()

    @property
    def seconds(self) -> float:
        return self._ticks * TICK

    def run(self) -> None:
        while True:
            time.sleep(TICK)
            self._ticks += 1
