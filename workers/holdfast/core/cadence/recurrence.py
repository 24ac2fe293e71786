"""One RRULE. dateutil finds its days, `times` its times of day; both searches are bounded.

dateutil's own search walks from DTSTART: it is given a start near by, moved on by whole intervals, so that the phase is
kept. Times of day are not left to it, as it would try each second, and write out whole years of them. Only the BYSETPOS
of a week or longer is its alone, as that counts days and times together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from itertools import islice
from math import lcm

from holdfast.core.cadence.every import Every
from holdfast.core.cadence.moments import exists, local, moment_at
from holdfast.core.cadence.rule_parts import Parts, dates_only, days, each_day
from holdfast.core.cadence.times_of_day import STEPS, Clock, clock

_DAYS = {"DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1)}
_EMPTY = 4000  # days in a row, of those that the date parts name, which are searched for a time
_YEARS = 60  # more than the longest gap of a sensible rule (29 February on a Monday: 40 years, around 2100)
_LAST = datetime(9999, 12, 30)  # noqa: DTZ001 - a local time, after which nothing is searched
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
        midnight = _midnight(begin)
        by_day = self.frequency in STEPS or self.frequency == "DAILY"
        if any(name == "BYSETPOS" for name, _ in self.parts) and not by_day:
            near = self._near(start, begin)
            yield from days(self.frequency, self.interval, self.parts, near, end).xafter(begin, inc=True)
            return
        dates = dates_only(self.parts)
        if by_day:
            every = self.interval if self.frequency == "DAILY" else 1
            named = each_day(every, dates, _midnight(start), midnight, end)
        else:
            near = self._near(_midnight(start), begin)
            named = days(self.frequency, self.interval, dates, near, end).xafter(midnight, inc=True)
        yield from _times(named, clock(self.frequency, self.interval, self.parts, start), begin, end)

    def _near(self, start: datetime, first: datetime) -> datetime:
        """The last start in phase with `start` that lies one interval or more before `first`, or `start` itself."""
        if self.frequency in _DAYS:
            step = _DAYS[self.frequency] * self.interval
            return start + max(0, (first - start) // step - 1) * step
        months = self.interval * (12 if self.frequency == "YEARLY" else 1)
        step_months = months if start.day <= 28 else lcm(months, 48)  # so that 29 February stays one
        apart = (first.year - start.year) * 12 + first.month - start.month
        to = start.year * 12 + start.month - 1 + max(0, (apart - months) // step_months) * step_months
        try:
            return start.replace(year=to // 12, month=to % 12 + 1)
        except ValueError:  # 29 February 2100
            return start

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
