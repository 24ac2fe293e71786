"""The number of tasks accepted so far and their rate, in words."""

from __future__ import annotations

import time
from collections.abc import Callable

from holdfast.core.plurals import counted
from holdfastd.cli.submit.submit_windows import Tally

PERIOD = 10.0  # seconds between two lines


class SubmitRate:
    """`clock`: monotonic, in seconds."""

    def __init__(self, tally: Tally, clock: Callable[[], float] = time.monotonic) -> None:
        self._tally = tally
        self._clock = clock
        self._begun = clock()
        self._line_at = self._begun + PERIOD

    def text(self) -> str:
        """Such as `12000 tasks accepted, 24000 a second`."""
        seconds = max(self._clock() - self._begun, 0.001)
        return f"{counted(self._tally.accepted, 'task')} accepted, {self._tally.accepted / seconds:.0f} a second"

    def line(self) -> str:
        """The text, once in each period; else empty. A command that ends within the first period gets none."""
        now = self._clock()
        if now < self._line_at:
            return ""
        self._line_at = now + PERIOD
        return self.text()
