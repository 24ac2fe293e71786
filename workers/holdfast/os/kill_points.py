"""Kill points, for tests: at such a point a process kills itself if an environment variable asks for it. Otherwise
`reached` does nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Sequence

from holdfast_config import environment, kill_spec
from holdfast_config.kill_spec import KillPoint, Point

__all__ = ["Point", "KillWatch", "armed", "reached", "watch"]


class KillWatch:
    """Counts how often this process, and the processes that it was forked from, have reached each point."""

    def __init__(self, asked: Sequence[KillPoint]) -> None:
        self.asked = asked
        self._times: Counter[Point] = Counter()

    def reached(self, point: Point) -> None:
        self._times[point] += 1
        for each in self.asked:
            if each.point is point and _is_due(each, self._times[point]):
                os.kill(os.getpid(), each.signal)


def _is_due(asked: KillPoint, times: int) -> bool:
    if asked.order is None:
        return times == asked.nth
    return times >= asked.nth and _take(asked)


def _take(asked: KillPoint) -> bool:
    """True if this process removed the file. Only one of the processes that reach the point can remove it."""
    assert asked.order is not None
    try:
        asked.order.unlink()
    except FileNotFoundError:
        return False
    return True


def _pass(point: Point) -> None:
    """Do nothing: this stands for `reached` if no kill point is set."""


watch = KillWatch(kill_spec.parse(environment.kill_at()))
armed = bool(watch.asked)
reached: Callable[[Point], None] = watch.reached if armed else _pass
