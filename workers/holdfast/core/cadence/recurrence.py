"""One RRULE: `rule_parts` finds its days, `times_of_day` their times; both searches are bounded.

A search begins near the moment that is asked for, with the period (year, month or week) that has it, so that the phase
is kept and BYSETPOS counts in the whole period, also in the one that has DTSTART.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import dropwhile, groupby, islice, takewhile

from holdfast.core.cadence.every import Every
from holdfast.core.cadence.moments import exists, local, moment_at
from holdfast.core.cadence.rule_parts import Parts, days, each_day, numbers, periods
from holdfast.core.cadence.times_of_day import STEPS, Clock, clock

_EMPTY = 4000  # days in a row, of those that the date parts name, which are searched for a time
_YEARS = 60  # more than the longest gap of a sensible rule (29 February on a Monday: 40 years, around 2100)
_LAST = datetime(9999, 12, 20)  # noqa: DTZ001 - a local time, after which nothing is searched
_LONGEST = timedelta(days=373)  # of a period: a year and what a week has beyond it
_SHIFT = timedelta(hours=3)  # more than any clock is put back


@dataclass(frozen=True, slots=True)
class Recurrence:
    """`parts` are those of the RRULE but COUNT, UNTIL and INTERVAL; `until` is a moment, itself included."""

    frequency: str
    interval: int
    parts: Parts = ()
    count: int | None = None
    until: int | None = None

    def following(self, start: datetime, timezone: str, after: int) -> int | None:
        if self.frequency in STEPS and not self.parts:
            moment = self._elapsed(moment_at(start, timezone), after)
        else:
            moment = self._counted(start, timezone, after)
        return moment if moment is None or self.until is None or moment <= self.until else None

    def _elapsed(self, first: int, after: int) -> int | None:
        step = Every(self.interval * STEPS[self.frequency] * 1000, first)
        moment = step.following(after)
        return moment if self.count is None or moment < first + self.count * step.interval else None

    def _counted(self, start: datetime, timezone: str, after: int) -> int | None:
        if self.count is not None:
            last = _last(self, start, timezone)
            if last is None or after >= last:
                return None
        walls = self.walls(start, max(start, _wall_before(after, timezone)))
        return next((moment for moment in existing(walls, timezone) if moment > after), None)

    def walls(self, start: datetime, first: datetime) -> Iterator[datetime]:
        """Local times from `first` on, which is not before `start`. They end when none was found for long."""
        begin = first
        while begin < _LAST:
            end = min(_LAST, begin.replace(year=min(9999, begin.year + _YEARS), day=min(begin.day, 28)))
            wall = None
            for wall in self._within(start, begin, end):
                yield wall
            if wall is None:
                return
            begin = end + timedelta(seconds=1)

    def _within(self, start: datetime, begin: datetime, end: datetime) -> Iterator[datetime]:
        """Local times from `begin` to `end`, both included."""
        midnight, of_day = _midnight(begin), clock(self.frequency, self.interval, self.parts, start)
        if self.frequency in STEPS or self.frequency == "DAILY":
            every = self.interval if self.frequency == "DAILY" else 1
            return _times(each_day(every, self.parts, _midnight(start), midnight, end), of_day, begin, end)
        within, positions = periods(self.frequency, self.interval, self.parts), numbers(self.parts, "BYSETPOS")
        if not positions:
            return _times(days(within, self.parts, start, midnight, end), of_day, begin, end)
        named = days(within, self.parts, start, midnight, min(_LAST, end + _LONGEST))
        walls = (
            wall
            for _, of_period in groupby(named, within.number)
            for wall in _at_positions(list(of_period), of_day.offsets, positions)
        )
        return takewhile(lambda wall: wall <= end, dropwhile(lambda wall: wall < begin, walls))

    def __str__(self) -> str:
        pairs: list[tuple[str, object]] = [("FREQ", self.frequency), ("INTERVAL", self.interval), *self.parts]
        if self.count is not None:
            pairs.append(("COUNT", self.count))
        if self.until is not None:
            pairs.append(("UNTIL", f"{local(self.until, 'UTC'):%Y%m%dT%H%M%SZ}"))
        return ";".join(f"{name}={value}" for name, value in pairs)


@lru_cache(maxsize=4096)
def _last(rule: Recurrence, start: datetime, timezone: str) -> int | None:
    """The moment of the last one that COUNT allows: they are counted once, not at each search."""
    newest = deque(islice(existing(rule.walls(start, start), timezone), rule.count), maxlen=1)
    return newest[0] if newest else None


def _midnight(wall: datetime) -> datetime:
    return wall.replace(hour=0, minute=0, second=0, microsecond=0)


def _at_positions(named: list[datetime], offsets: tuple[int, ...], positions: tuple[int, ...]) -> Iterator[datetime]:
    """Of the times of a period, in order, those at these places: 1 is the first, -1 the last."""
    number = len(named) * len(offsets)
    places = {place - 1 if place > 0 else number + place for place in positions}
    for day, time in (divmod(place, len(offsets)) for place in sorted(places) if 0 <= place < number):
        yield named[day] + timedelta(seconds=offsets[time])


def _times(named: Iterator[datetime], of_day: Clock, begin: datetime, end: datetime) -> Iterator[datetime]:
    empty: set[int] = set()  # phases of days without a time
    for day in named:
        phase = of_day.phase(day)
        if phase in empty and day > begin:
            continue
        wall = None
        for wall in of_day.times(day, begin):
            if wall > end:
                return
            yield wall
        if wall is None and day > begin:
            empty.add(phase)
            if len(empty) > _EMPTY:
                return


def existing(walls: Iterator[datetime], timezone: str) -> Iterator[int]:
    return (moment_at(wall, timezone) for wall in walls if exists(wall, timezone))


def _wall_before(after: int, timezone: str) -> datetime:
    """The local time of a moment; an earlier one if the clock was put back lately, as none must be passed over."""
    now, before = local(after, timezone), local(max(0, after - round(_SHIFT.total_seconds() * 1000)), timezone)
    return (now if now.utcoffset() == before.utcoffset() else now - _SHIFT).replace(tzinfo=None, microsecond=0)
