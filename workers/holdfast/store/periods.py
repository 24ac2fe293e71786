"""Adds up the rollups of a period: days, hours, ten minutes and minutes, the longest that fit.

If a rollup is missing, the shorter ones in its place are read. For example, the last minutes are not packed yet. A time
without deliveries has no rollups at all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from holdfast.core.rollup import (
    DAY,
    HOUR,
    MINUTE,
    MINUTES_KEPT_MS,
    PACKED,
    PACKED_KEPT_MS,
    TEN_MINUTES,
    Figures,
    Rollup,
    Sum,
    add_to,
)
from holdfast.core.statistics import in_all, only

if TYPE_CHECKING:
    from holdfast.store import Store

PARTS = 28  # a long period is read in at least so many parts: thirty days by days


class Step(NamedTuple):
    """The figures of one step of a course (a row of equal steps of time), for all lanes and handlers together.
    `seconds`: how much of the step lies in the period."""

    start_ms: int
    seconds: float
    figures: Figures


@dataclass(frozen=True, slots=True)
class Period:
    """The figures from `start_ms` to before `end_ms`. `total`: the figures of the whole period, for each pair of lane
    and handler. `parts`: the figures of all pairs together, by the start of a part; a part lasts `part_ms`. Parts
    without figures are left out. The first part may begin before the period."""

    start_ms: int
    end_ms: int
    part_ms: int = MINUTE
    total: Sum = field(default_factory=lambda: Sum(Figures))
    parts: dict[int, Figures] = field(default_factory=dict[int, Figures])

    @property
    def seconds(self) -> float:
        return (self.end_ms - self.start_ms) / 1000

    def course(self, most: int) -> list[Step]:
        """The figures over time, in at most this many steps of equal length."""
        first = self.start_ms // self.part_ms * self.part_ms
        step_ms = max(1, -(-(self.end_ms - first) // most // self.part_ms)) * self.part_ms
        steps = [self._step(start, start + step_ms) for start in range(first, self.end_ms, step_ms)]
        for at, figures in self.parts.items():
            steps[(at - first) // step_ms].figures.add(figures)
        return steps

    def _step(self, start_ms: int, end_ms: int) -> Step:
        """A step without figures yet."""
        inside = min(end_ms, self.end_ms) - max(start_ms, self.start_ms)
        return Step(start_ms, inside / 1000, Figures())


class PeriodBounds(NamedTuple):
    """The time of a period. See Period."""

    start_ms: int
    end_ms: int
    part_ms: int


def last_bounds(now_ms: int, length_ms: int) -> tuple[PeriodBounds, PeriodBounds]:
    """The times of two periods of this length: the one that ends with this minute, and the one before it, of which only
    the total counts. Long periods begin at a multiple of ten minutes."""
    whole = MINUTE if 2 * length_ms < MINUTES_KEPT_MS else TEN_MINUTES
    end = -(-now_ms // MINUTE) * MINUTE
    start = (end - length_ms) // whole * whole
    before = (start - length_ms) // whole * whole
    return PeriodBounds(start, end, _part(end - start)), PeriodBounds(before, start, DAY)


async def read_period(
    store: Store, now_ms: int, bounds: PeriodBounds, handler: str | None = None, lane: str | None = None
) -> Period:
    """Add up a period. With `handler` or `lane`, only the figures of this handler or lane are counted."""
    period = Period(*bounds)
    await _Sum(store, now_ms, period, handler, lane).read()
    return period


async def made_of_shorter(store: Store, now_ms: int, length_ms: int, start_ms: int) -> Rollup:
    """The rollup of ten minutes, an hour or a day, made from shorter rollups. An hour is made from its minutes while
    the store keeps these minutes: a rollup of ten minutes has room for fewer names."""
    of_minutes = length_ms == HOUR and start_ms >= now_ms - MINUTES_KEPT_MS
    bounds = PeriodBounds(start_ms, start_ms + length_ms, MINUTE if of_minutes else PACKED[length_ms])
    return (await read_period(store, now_ms, bounds)).total


def _part(length_ms: int) -> int:
    """The length of the parts of a chart: the longest rollups of which at least PARTS fit into the period, or else a
    minute."""
    return max((length for length in PACKED if length_ms >= PARTS * length), default=MINUTE)


@dataclass(frozen=True, slots=True)
class _Sum:
    """Adds rollups to a period one by one. This needs little memory, and the process can do other work after each
    rollup."""

    store: Store
    now_ms: int
    period: Period
    handler: str | None = None
    lane: str | None = None

    async def read(self) -> None:
        oldest = (self.now_ms - PACKED_KEPT_MS) // TEN_MINUTES * TEN_MINUTES
        start = max(self.period.start_ms, min(oldest, self.period.end_ms))
        for length, since, until in stretches(start, self.period.end_ms, self.period.part_ms):
            await self._read(length, since, until)

    async def _read(self, length: int, since: int, until: int) -> None:
        missing = since  # from here on
        async for at, rollup in self.store.rollups(length, since, until):
            if rollup is not None:
                await self._read_shorter(length, missing, at)
                await asyncio.sleep(0)  # to read one takes as long as to add it
                self._add(at, rollup)
                missing = at + length
                await asyncio.sleep(0)
        await self._read_shorter(length, missing, until)

    async def _read_shorter(self, length: int, since: int, until: int) -> None:
        shorter = PACKED.get(length)
        if shorter == MINUTE:
            since = max(since, (self.now_ms - MINUTES_KEPT_MS) // MINUTE * MINUTE)
        if since < until and shorter:
            await self._read(shorter, since, until)

    def _add(self, at: int, rollup: Rollup) -> None:
        wanted = only(rollup, self.handler, self.lane)
        add_to(self.period.total, wanted)
        part = at // self.period.part_ms * self.period.part_ms
        self.period.parts.setdefault(part, Figures()).add(in_all(wanted))


def stretches(start_ms: int, end_ms: int, longest: int) -> Iterator[tuple[int, int, int]]:
    """Divide a period into stretches; the answer for a stretch is the length of the rollups to read, its start and its
    end. The middle is read by the longest rollups, the edges by shorter ones. The start is a whole minute."""
    shorter = PACKED.get(longest)
    if shorter is None:
        yield longest, start_ms, end_ms
        return
    first, beyond = -(-start_ms // longest) * longest, end_ms // longest * longest
    if first >= beyond:
        yield from stretches(start_ms, end_ms, shorter)
        return
    if start_ms < first:
        yield from stretches(start_ms, first, shorter)
    yield longest, first, beyond
    if beyond < end_ms:
        yield from stretches(beyond, end_ms, shorter)
