"""DeliveryTotals adds up rollups to counters that only grow, from the moment at which this steward began to report.

A minute that is over changes no more and is added once; the present one is added anew at each reading. Names of lanes
and handlers are bounded, and what is beyond counts for `other`.
"""

from __future__ import annotations

from collections.abc import Mapping

from holdfast.core.rollup import MINUTE, OTHER, Figures, Rollup, Series, sum_of
from holdfast.telemetry.readings import BoundedNames

MOST_SERIES = 1000  # pairs of a lane and a handler
LONGEST_GAP = 30 * MINUTE  # of a steward that was not scraped for long, what came before is left out


class DeliveryTotals:
    def __init__(self, lanes: BoundedNames, handlers: BoundedNames) -> None:
        self._lanes = lanes
        self._handlers = handlers
        self._over: Rollup = {}
        self._pairs: set[Series] = set()
        self._next: int | None = None
        self.began_ms = 0  # the start of the first minute that is counted

    def since(self, now_ms: int) -> int:
        """The start of the first minute that is to be read."""
        this = now_ms // MINUTE * MINUTE
        return this if self._next is None else max(self._next, this - LONGEST_GAP)

    def add(self, minutes: Mapping[int, Rollup], now_ms: int) -> Rollup:
        """Take in the minutes from `since` to now; the totals."""
        this = now_ms // MINUTE * MINUTE
        for start, rollup in sorted(minutes.items()):
            if start < this:
                self._over = sum_of([self._over, self._bounded(rollup)])
        self.began_ms = self.began_ms or this
        self._next = this
        return sum_of([self._over, *(self._bounded(minutes[start]) for start in minutes if start >= this)])

    def _bounded(self, rollup: Rollup) -> Rollup:
        """The same figures under bounded names; the busiest series get theirs first."""
        bounded: Rollup = {}
        for series in sorted(rollup, key=lambda each: -rollup[each].outcomes.total()):
            bounded.setdefault(self._named(series), Figures()).add(rollup[series])
        return bounded

    def _named(self, series: Series) -> Series:
        named = Series(self._lanes.name(series.lane), self._handlers.name(series.handler))
        if named not in self._pairs and len(self._pairs) >= MOST_SERIES:
            return Series(OTHER, OTHER)
        self._pairs.add(named)
        return named
