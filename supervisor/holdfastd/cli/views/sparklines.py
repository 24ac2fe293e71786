"""Rows of bars that show how a number changed over time."""

from __future__ import annotations

from collections.abc import Sequence

_BARS = "▁▂▃▄▅▆▇█"


def sparkline(numbers: Sequence[float]) -> str:
    """One bar for each number, the highest one as high as a line; a space for zero."""
    highest = max(numbers, default=0)
    return "".join(_BARS[min(7, int(8 * number / highest))] if number > 0 else " " for number in numbers)
