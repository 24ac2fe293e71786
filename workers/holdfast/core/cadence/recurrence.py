"""One RRULE, by dateutil, whose own search walks from DTSTART and does not end: it is given a start near by and an end.

The start is moved on by whole intervals, so that the phase is kept. A rule below a day that has BY parts is searched
day by day: which days, by a daily rule of its date parts; then within the day.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice
from math import lcm

from dateutil.rrule import rrule, rrulestr

from holdfast.core.cadence.every import Every
from holdfast.core.cadence.moments import exists, local, moment_at

BELOW_A_DAY = {
    "HOURLY": timedelta(hours=1),
    "MINUTELY": timedelta(minutes=1),
    "SECONDLY": timedelta(seconds=1),
}
_STEPS = {"DAILY": timedelta(days=1), "WEEKLY": timedelta(weeks=1), **BELOW_A_DAY}
_DATES = ("BYMONTH", "BYMONTHDAY", "BYDAY", "BYYEARDAY", "BYWEEKNO")

# How many days of those that the date parts name are searched for a time, by what a day of steps costs.
_DAYS = {"HOURLY": 4000, "MINUTELY": 100, "SECONDLY": 3}
_YEARS = 60  # more than the longest gap of a sensible rule (29 February on a Monday: 40 years, around 2100)
_SHIFT = timedelta(hours=3)  # more than any clock is put back


@dataclass(frozen=True, slots=True)
class Recurrence:
    """`parts` are those of the RRULE but COUNT, UNTIL and INTERVAL; `until` is a moment, itself included."""

    frequency: str
    interval: int
    parts: tuple[tuple[str, str], ...] = ()
    count: int | None = None
    until: int | None = None

    def following(self, start: datetime, timezone: str, after: int) -> int | None:
        found = self._found(start, timezone, after)
        return found if found is None or self.until is None or found <= self.until else None

    def _found(self, start: datetime, timezone: str, after: int) -> int | None:
        if self.frequency in BELOW_A_DAY and not self.parts:
            return self._elapsed(moment_at(start, timezone), after)
        if self.count is not None:
            first = islice(_existing(self._walls(start, start), timezone), self.count)
            return next((moment for moment in first if moment > after), None)
        walls = self._walls(start, max(start, _wall_before(after, timezone)))
        return next((moment for moment in _existing(walls, timezone) if moment > after), None)

    def _elapsed(self, first: int, after: int) -> int | None:
        step = Every(self.interval * round(BELOW_A_DAY[self.frequency].total_seconds()) * 1000, first)
        found = step.following(after)
        return found if self.count is None or found < first + self.count * step.interval else None

    def _walls(self, start: datetime, first: datetime) -> Iterator[datetime]:
        """Local times from `first` on, which is not before `start`; they end after a bounded search."""
        if self.frequency not in BELOW_A_DAY:
            yield from self._rule(self._near(start, first), _later(first)).xafter(first, inc=True)
            return
        for day in islice(self._days(first), _DAYS[self.frequency]):
            begin = max(first, day)
            end = day + timedelta(days=1) - timedelta(seconds=1)
            yield from self._rule(self._near(start, begin), end).xafter(begin, inc=True)

    def _days(self, first: datetime) -> Iterator[datetime]:
        midnight = first.replace(hour=0, minute=0, second=0, microsecond=0)
        dates = "".join(f";{name}={value}" for name, value in self.parts if name in _DATES)
        return iter(_made(f"FREQ=DAILY{dates}", midnight, _later(midnight)))

    def _rule(self, start: datetime, end: datetime) -> rrule:
        parts = "".join(f";{name}={value}" for name, value in self.parts)
        return _made(f"FREQ={self.frequency};INTERVAL={self.interval}{parts}", start, end)

    def _near(self, start: datetime, first: datetime) -> datetime:
        """The last start in phase with `start` that lies one interval or more before `first`, or `start` itself."""
        if self.frequency in _STEPS:
            step = _STEPS[self.frequency] * self.interval
            return start + max(0, (first - start) // step - 1) * step
        months = lcm(self.interval * (12 if self.frequency == "YEARLY" else 1), 48)  # so that 29 February stays one
        years = max(0, (first.year - start.year - 1) * 12 // months) * months // 12
        try:
            return start.replace(year=start.year + years)
        except ValueError:  # 29 February 2100
            return start

    def __str__(self) -> str:
        pairs: list[tuple[str, object]] = [("FREQ", self.frequency), ("INTERVAL", self.interval), *self.parts]
        if self.count is not None:
            pairs.append(("COUNT", self.count))
        if self.until is not None:
            pairs.append(("UNTIL", f"{local(self.until, 'UTC'):%Y%m%dT%H%M%SZ}"))
        return ";".join(f"{name}={value}" for name, value in pairs)


def _made(text: str, start: datetime, end: datetime) -> rrule:
    made = rrulestr(f"{text};UNTIL={end:%Y%m%dT%H%M%S}", dtstart=start)
    assert isinstance(made, rrule)
    return made


def _later(first: datetime) -> datetime:
    return first.replace(year=min(9999, first.year + _YEARS), day=min(first.day, 28))


def _existing(walls: Iterator[datetime], timezone: str) -> Iterator[int]:
    return (moment_at(wall, timezone) for wall in walls if exists(wall, timezone))


def _wall_before(after: int, timezone: str) -> datetime:
    """The local time of a moment; where the clock was put back lately, an earlier one, as none must be passed over."""
    now, before = local(after, timezone), local(max(0, after - round(_SHIFT.total_seconds() * 1000)), timezone)
    return (now if now.utcoffset() == before.utcoffset() else now - _SHIFT).replace(tzinfo=None, microsecond=0)
