"""The progress of long work in words: how much is done, how fast, and how long the rest takes."""

from __future__ import annotations

import time
from collections.abc import Callable

from holdfast.core.duration_words import duration
from holdfast.core.plurals import counted

PERIOD = 10.0  # seconds between two lines
SLOW = 10.0  # a second: below it, the rate is shown with a decimal


class WorkRate:
    """`noun` and `verb`: such as `task` and `cleared`. `total`: None where it is not known; `is_estimate`: it may be
    wrong. `clock`: monotonic, in seconds."""

    def __init__(
        self,
        noun: str,
        verb: str,
        total: int | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        is_estimate: bool = False,
    ) -> None:
        self.total = total
        self._is_estimate = is_estimate
        self._noun, self._verb = noun, verb
        self._clock = clock
        self._begun = clock()
        self._line_at = self._begun + PERIOD

    def text(self, done: int) -> str:
        """Such as `1200 of 5000 tasks cleared, 400 a second, 10s left`."""
        rate = done / max(self._clock() - self._begun, 0.001)
        shown = f"{rate:.0f}" if rate >= SLOW or not rate else f"{rate:.1f}"
        return f"{self._count(done)} {self._verb}, {shown} a second{self._left(done, rate)}"

    def line(self, done: int) -> str:
        """The text, once in each period; else empty. Work that ends within the first period gets none."""
        now = self._clock()
        if now < self._line_at:
            return ""
        self._line_at = now + PERIOD
        return self.text(done)

    def _count(self, done: int) -> str:
        if self.total is None:
            return counted(done, self._noun)
        if self._is_estimate:
            return f"{done} of about {counted(max(done, self.total), self._noun)}"
        return f"{done} of {counted(self.total, self._noun)}"

    def _left(self, done: int, rate: float) -> str:
        if self.total is None or not rate or done > self.total:
            return ""
        return f", {duration((self.total - done) / rate)} left"
