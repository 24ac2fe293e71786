"""The times of a day that a rule names: a few of each day, or steps of an hour, a minute or a second in phase."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import product

from holdfast.core.cadence.rule_parts import Parts, numbers

STEPS = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}  # seconds
DAY = 86400


@dataclass(frozen=True, slots=True)
class Clock:
    """`step` and `offsets` in seconds: each step names the times at these offsets from its beginning.

    Every `interval`th step counts, from `origin` on; of those, the ones that begin in `hours` and, where they are
    shorter, in `minutes` and at `seconds`.
    """

    step: int
    interval: int
    origin: datetime
    offsets: tuple[int, ...]
    hours: frozenset[int] = frozenset(range(24))
    minutes: frozenset[int] = frozenset(range(60))
    seconds: frozenset[int] = frozenset(range(60))

    def phase(self, day: datetime) -> int:
        """Days of one phase have the same times."""
        return -self._passed(day) % self.interval

    def times(self, day: datetime, begin: datetime) -> Iterator[datetime]:
        """The times of this day, from `begin` on, in order. `day` is a midnight."""
        skipped = max(0, (begin - day) // timedelta(seconds=self.step)) if begin > day else 0
        for number in self._numbers(self.phase(day)):
            if number >= skipped:
                for offset in self.offsets:
                    wall = day + timedelta(seconds=number * self.step + offset)
                    if wall >= begin:
                        yield wall

    def _passed(self, day: datetime) -> int:
        """Steps from the origin to the beginning of the day."""
        return (day - self.origin) // timedelta(seconds=self.step)

    def _numbers(self, first: int) -> Iterator[int]:
        """The steps of a day, counted from midnight, the `first` of which is in phase."""
        all_in_phase = range(first, DAY // self.step, self.interval)
        if len(all_in_phase) <= len(self.hours) * (60 if self.step < 3600 else 1):
            return (number for number in all_in_phase if self._wanted(number * self.step))
        return (
            number
            for begin, length in self._stretches()
            for number in range(begin + (first - begin) % self.interval, begin + length, self.interval)
            if self._wanted(number * self.step)
        )

    def _stretches(self) -> Iterator[tuple[int, int]]:
        """The ranges of the wanted steps, and the most there can be."""
        if self.step >= 60:
            return ((hour * 3600 // self.step, 3600 // self.step) for hour in sorted(self.hours))
        every = product(sorted(self.hours), sorted(self.minutes))
        return ((hour * 3600 + minute * 60, 60) for hour, minute in every)

    def _wanted(self, second: int) -> bool:
        hour, rest = divmod(second, 3600)
        return (
            hour in self.hours
            and (self.step >= 3600 or rest // 60 in self.minutes)
            and (self.step >= 60 or rest % 60 in self.seconds)
        )


@lru_cache(maxsize=4096)
def clock(frequency: str, interval: int, parts: Parts, start: datetime) -> Clock:
    """The clock of a rule that begins at `start`."""
    hours, minutes, seconds = (numbers(parts, name) for name in ("BYHOUR", "BYMINUTE", "BYSECOND"))
    if frequency not in STEPS:
        every = product(hours or (start.hour,), minutes or (start.minute,), seconds or (start.second,))
        offsets = [hour * 3600 + minute * 60 + second for hour, minute, second in every]
        chosen = _chosen(offsets, numbers(parts, "BYSETPOS") if frequency == "DAILY" else ())
        return Clock(DAY, 1, start.replace(hour=0, minute=0, second=0), chosen)
    step = STEPS[frequency]
    within = [0]
    if step >= 60:
        within = list(seconds or (start.second,))
    if step >= 3600:
        within = [minute * 60 + second for minute, second in product(minutes or (start.minute,), within)]
    return Clock(
        step,
        interval,
        start - timedelta(seconds=(start.minute * 60 + start.second) % step),
        _chosen(within, numbers(parts, "BYSETPOS")),
        frozenset(hours or range(24)),
        frozenset(minutes or range(60)),
        frozenset(seconds or range(60)),
    )


def _chosen(offsets: list[int], positions: tuple[int, ...]) -> tuple[int, ...]:
    if not positions:
        return tuple(offsets)
    places = {place - 1 if place > 0 else len(offsets) + place for place in positions}
    return tuple(offset for place, offset in enumerate(offsets) if place in places)
