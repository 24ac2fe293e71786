"""Reads the rollups of a period: of minutes where they are kept, of ten minutes before that."""

from __future__ import annotations

from dataclasses import dataclass

from holdfast.core.rollup import MINUTE, MINUTES_KEPT_MS, TEN_MINUTES, Rollup
from holdfast.store.protocol import RollupStore


@dataclass(frozen=True, slots=True)
class Period:
    """From `start_ms` to before `end_ms`, whole minutes or ten minutes. `rollups`: by their start."""

    start_ms: int
    end_ms: int
    rollups: dict[int, Rollup]

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


async def _read(store: RollupStore, now_ms: int, start_ms: int, end_ms: int) -> Period:
    """A period that began before the minutes that are kept begins with a whole packed rollup."""
    oldest = -(-(now_ms - MINUTES_KEPT_MS) // TEN_MINUTES) * TEN_MINUTES
    if start_ms < oldest:
        start_ms = start_ms // TEN_MINUTES * TEN_MINUTES
    split = min(max(start_ms, oldest), end_ms)
    rollups = await store.ten_minutes(start_ms, split) if start_ms < split else {}
    return Period(start_ms, end_ms, rollups | (await store.minutes(split, end_ms) if split < end_ms else {}))
