"""Reads the rollups of a period: of minutes where they are kept, of ten minutes before that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from holdfast.core.rollup import MINUTE, MINUTES_KEPT_MS, TEN_MINUTES, Figures, Rollup, Series, add_to, sum_of
from holdfast.core.statistics import in_all, only
from holdfast.store.protocol import RollupStore

HOUR = 60 * MINUTE
LONG = 48 * HOUR  # longer periods are summed by hours
_ALL = Series("", "")


@dataclass(frozen=True, slots=True)
class Period:
    """From `start_ms` to before `end_ms`, whole minutes or ten minutes. `rollups`: by their start. `summed`: the sum of
    all of them, where they are not whole."""

    start_ms: int
    end_ms: int
    rollups: dict[int, Rollup]
    summed: Rollup | None = None

    @property
    def total(self) -> Rollup:
        """The sum of its rollups."""
        return sum_of(self.rollups.values()) if self.summed is None else self.summed

    @property
    def seconds(self) -> float:
        return (self.end_ms - self.start_ms) / 1000


async def last_periods(store: RollupStore, now_ms: int, length_ms: int) -> tuple[Period, Period]:
    """The period of this length until the end of this minute, and the one of the same length before it."""
    step = MINUTE if 2 * length_ms < MINUTES_KEPT_MS else TEN_MINUTES
    end = -(-now_ms // MINUTE) * MINUTE
    length = -(-length_ms // step) * step
    latest = await _read(store, now_ms, end - length, end)
    return latest, await _read(store, now_ms, end - 2 * length, end - length)


async def summed_periods(
    store: RollupStore, now_ms: int, length_ms: int, handler: str | None = None, lane: str | None = None
) -> tuple[Period, Period]:
    """As `last_periods`, with little memory and without keeping other work of the process waiting for long: the rollups
    are added up one by one as they are read, and each Period has the totals of its stretches (hours, if it is long),
    and one sum by series; of this handler and lane alone, if they are given."""
    step = MINUTE if 2 * length_ms < MINUTES_KEPT_MS else TEN_MINUTES
    end = -(-now_ms // MINUTE) * MINUTE
    length = -(-length_ms // step) * step
    wanted = partial(only, handler=handler, lane=lane)
    latest = await _sum(store, now_ms, end - length, end, wanted)
    return latest, await _sum(store, now_ms, end - 2 * length, end - length, wanted)


async def _sum(
    store: RollupStore, now_ms: int, start_ms: int, end_ms: int, wanted: Callable[[Rollup], Rollup]
) -> Period:
    total, course = dict[Series, Figures](), dict[int, Figures]()
    start_ms, split = _parts(now_ms, start_ms, end_ms)
    together = HOUR if end_ms - start_ms > LONG else MINUTE
    for read, step, first, beyond in (
        (store.ten_minutes, TEN_MINUTES, start_ms, split),
        (store.minutes, MINUTE, split, end_ms),
    ):
        for at in range(first, beyond, step):
            place = start_ms + (at - start_ms) // together * together
            for rollup in map(wanted, (await read(at, at + step)).values()):
                course.setdefault(place, Figures()).add(in_all(rollup))
                add_to(total, rollup)
    return Period(start_ms, end_ms, {at: {_ALL: figures} for at, figures in course.items()}, total)


async def _read(store: RollupStore, now_ms: int, start_ms: int, end_ms: int) -> Period:
    """A period that began before the minutes that are kept begins with a whole packed rollup."""
    start_ms, split = _parts(now_ms, start_ms, end_ms)
    rollups = await store.ten_minutes(start_ms, split) if start_ms < split else {}
    return Period(start_ms, end_ms, rollups | (await store.minutes(split, end_ms) if split < end_ms else {}))


def _parts(now_ms: int, start_ms: int, end_ms: int) -> tuple[int, int]:
    """Its start, and the moment from which on its minutes are read."""
    oldest = -(-(now_ms - MINUTES_KEPT_MS) // TEN_MINUTES) * TEN_MINUTES
    if start_ms < oldest:
        start_ms = start_ms // TEN_MINUTES * TEN_MINUTES
    return start_ms, min(max(start_ms, oldest), end_ms)
