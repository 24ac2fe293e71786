"""The number of tasks accepted so far and their rate, in words."""

from __future__ import annotations

import time
from collections.abc import Callable

from holdfastd.cli.common.work_rate import WorkRate
from holdfastd.cli.submit.submit_windows import Tally


class SubmitRate:
    """`clock`: monotonic, in seconds."""

    def __init__(self, tally: Tally, clock: Callable[[], float] = time.monotonic) -> None:
        self._tally = tally
        self._rate = WorkRate("task", "accepted", clock=clock)

    def text(self) -> str:
        """Such as `12000 tasks accepted, 24000 a second`."""
        return self._rate.text(self._tally.accepted)

    def line(self) -> str:
        """The text, once in each period; else empty. A command that ends within the first period gets none."""
        return self._rate.line(self._tally.accepted)
