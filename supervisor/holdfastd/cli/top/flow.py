"""How many tasks come into each lane and leave it a second, by what two looks some seconds apart saw."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from holdfast.core.rollup import MINUTE, Rollup
from holdfast.core.statistics import by_lane, runs_of

WINDOW_MS = 10_000


class Rates(NamedTuple):
    """Tasks a second."""

    coming: float
    leaving: float


class Seen(NamedTuple):
    """`present`: tasks that wait in each lane or run; `left`: runs that ended, by the start of a minute and lane."""

    at_ms: int
    present: Mapping[str, int]
    left: Mapping[int, Mapping[str, int]]


@dataclass(slots=True)
class Flow:
    _seen: deque[Seen] = field(default_factory=deque[Seen])

    def rates(self, at_ms: int, present: Mapping[str, int], minutes: Mapping[int, Rollup]) -> dict[str, Rates]:
        """The rates of each lane since a look about ten seconds ago; empty at the first look."""
        this = at_ms // MINUTE * MINUTE
        left = {at: _runs(rollup) for at, rollup in minutes.items() if at >= this - MINUTE}
        self._seen.append(Seen(at_ms, present, left))
        while len(self._seen) > 2 and self._seen[1].at_ms <= at_ms - WINDOW_MS:
            self._seen.popleft()
        first, last = self._seen[0], self._seen[-1]
        seconds = (last.at_ms - first.at_ms) / 1000
        return {lane: _between(first, last, lane, seconds) for lane in present} if seconds > 0 else {}


def _between(first: Seen, last: Seen, lane: str, seconds: float) -> Rates:
    begin = min(first.left, default=0)
    left = sum(count.get(lane, 0) for at, count in last.left.items() if at >= begin)
    left -= sum(count.get(lane, 0) for at, count in first.left.items() if at in last.left)
    came = left + last.present[lane] - first.present.get(lane, 0)
    return Rates(max(0.0, came / seconds), max(0.0, left / seconds))


def _runs(rollup: Rollup) -> dict[str, int]:
    return {lane: runs_of(figures) for lane, figures in by_lane(rollup).items()}
