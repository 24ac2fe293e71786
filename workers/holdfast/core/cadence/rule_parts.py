"""The days that a rule names, and the years, months and weeks in which it counts.

Missing parts are taken from DTSTART before dateutil sees the rule (RFC 5545, 3.3.10). dateutil always starts at the
beginning of a period. This module does two things itself. It finds the weeks of BYWEEKNO, because dateutil counts weeks
wrongly around New Year. It splits a BYDAY that has days with and without a number (`MO,2TU`), because dateutil would
want days that satisfy both.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import groupby, product
from typing import Any

from dateutil import rrule

Parts = tuple[tuple[str, str], ...]

_FREQUENCIES: dict[str, Any] = {"YEARLY": rrule.YEARLY, "MONTHLY": rrule.MONTHLY, "WEEKLY": rrule.WEEKLY}
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_WEEKDAYS: dict[str, Any] = {name: getattr(rrule, name) for name in WEEKDAYS}
_DATES = ("BYMONTH", "BYMONTHDAY", "BYDAY", "BYYEARDAY", "WKST")
_DAYS = {"BYDAY", "BYMONTHDAY", "BYYEARDAY"}
_NTH = re.compile(r"([+-]?\d+)?([A-Z]{2})", re.ASCII)


def numbers(parts: Parts, name: str) -> tuple[int, ...]:
    """The values of a part, in order and without duplicates; empty if the part is missing."""
    text = dict(parts).get(name, "")
    return tuple(sorted({int(number) for number in text.split(",") if number}))


@dataclass(frozen=True, slots=True)
class Periods:
    """The years, months or weeks of a rule, each with a number. From the period of DTSTART on, every `interval`th
    counts.

    `week_begins` is the first day of a week, 0 for Monday. `of_weeks`: a year consists of whole weeks, because the rule
    has BYWEEKNO.
    """

    frequency: str
    interval: int
    week_begins: int
    of_weeks: bool

    def number(self, day: date) -> int:
        match self.frequency:
            case "WEEKLY":
                return (day.toordinal() - 1 - self.week_begins) // 7
            case "MONTHLY":
                return day.year * 12 + day.month - 1
            case _:
                return _week(day, self.week_begins)[0] if self.of_weeks else day.year

    def begin(self, number: int) -> datetime:
        """The first day of a period. With whole weeks, this may be a little before the true first day."""
        match self.frequency:
            case "WEEKLY":
                return datetime.fromordinal(number * 7 + 1 + self.week_begins)
            case "MONTHLY":
                return datetime(number // 12, number % 12 + 1, 1)  # noqa: DTZ001 - a local day
            case _:
                return datetime(number, 1, 1) - timedelta(days=3 if self.of_weeks else 0)  # noqa: DTZ001


def periods(frequency: str, interval: int, parts: Parts) -> Periods:
    given = dict(parts)
    return Periods(frequency, interval, WEEKDAYS.index(given.get("WKST", "MO")), "BYWEEKNO" in given)


def days(within: Periods, parts: Parts, start: datetime, first: datetime, end: datetime) -> Iterator[datetime]:
    """The days of the counted periods, from the beginning of the period of `first` to `end`; all are midnights.

    Raises ValueError or TypeError for impossible parts.
    """
    its_first, origin = within.number(first), within.number(start)
    begin = within.begin(its_first - (its_first - origin) % within.interval)
    named = _completed(within.frequency, parts, start)
    if not within.of_weeks:
        return _found(within.frequency, within.interval, named, begin, end)
    weeks = frozenset(numbers(parts, "BYWEEKNO"))
    return (
        day
        for day in _found(within.frequency, 1, named, begin, end)
        if (week := _week(day, within.week_begins))
        and (week[0] - origin) % within.interval == 0
        and (week[1] in weeks or week[1] - week[2] - 1 in weeks)
    )


def each_day(interval: int, parts: Parts, origin: datetime, first: datetime, end: datetime) -> Iterator[datetime]:
    """Every `interval`th day from `origin` on, if it lies between `first` and `end` and the date parts allow it. All
    are midnights."""
    dates = _dates(parts)
    if {name for name, _ in dates} <= {"WKST"}:
        late = -(first - origin).days % interval
        return (first + timedelta(days=number) for number in range(late, (end - first).days + 1, interval))
    if {name for name, _ in dates} <= {"WKST", "BYMONTH"}:
        dates = (*dates, ("BYDAY", ",".join(WEEKDAYS)))
    named = _found("MONTHLY", 1, dates, first, end)  # dateutil is fastest at whole months
    return (day for day in named if (day - origin).days % interval == 0)


def _completed(frequency: str, parts: Parts, start: datetime) -> Parts:
    """The date parts; missing ones are taken from DTSTART."""
    dates, given = _dates(parts), dict(parts)
    if given.keys() & _DAYS:
        return dates
    if frequency == "WEEKLY" or "BYWEEKNO" in given:
        return (*dates, ("BYDAY", WEEKDAYS[start.weekday()]))
    dates = (*dates, ("BYMONTHDAY", str(start.day)))
    return dates if frequency == "MONTHLY" or "BYMONTH" in given else (*dates, ("BYMONTH", str(start.month)))


def _dates(parts: Parts) -> Parts:
    return tuple(part for part in parts if part[0] in _DATES)


def _found(frequency: str, interval: int, dates: Parts, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The days that dateutil finds for these date parts, without duplicates."""
    found = (
        rrule.rrule(_FREQUENCIES[frequency], dtstart=begin, interval=interval, until=end, **options)
        for options in _options(dates)
    )
    return (day for day, _ in groupby(heapq.merge(*found)))


@lru_cache(maxsize=4096)
def _options(dates: Parts) -> tuple[dict[str, Any], ...]:
    """The arguments for dateutil: one set for weekdays without a number, one for weekdays with a number."""
    given = dict(dates)
    found = _NTH.findall(given.pop("BYDAY", ""))
    weekdays = [_WEEKDAYS[day](int(number)) if number else _WEEKDAYS[day] for number, day in found]
    asked: dict[str, Any] = {
        name.lower(): [int(one) for one in given[name].split(",")] for name in given if name != "WKST"
    }
    asked["wkst"] = _WEEKDAYS[given.get("WKST", "MO")]
    kinds = ([day for day in weekdays if day.n is None], [day for day in weekdays if day.n is not None])
    return tuple({**asked, "byweekday": kind} for kind in kinds if kind) or (asked,)


def _week(day: date, begins: int) -> tuple[int, int, int]:
    """The week of a day: its year, its number, and the number of weeks in this year (ISO 8601, with any first day).

    A week belongs to the year of its fourth day.
    """
    fourth = date.fromordinal(day.toordinal() - (day.weekday() - begins) % 7 + 3)
    last = date(fourth.year, 12, 31)
    weeks = (_day_of_year(last) - (last.weekday() - begins - 3) % 7 - 1) // 7 + 1
    return fourth.year, (_day_of_year(fourth) - 1) // 7 + 1, weeks


def _day_of_year(day: date) -> int:
    return day.toordinal() - date(day.year, 1, 1).toordinal() + 1


# The times of a day that a rule names: a few of each day, or steps of an hour, a minute or a second in phase.

STEPS = {"HOURLY": 3600, "MINUTELY": 60, "SECONDLY": 1}  # seconds
DAY = 86400


@dataclass(frozen=True, slots=True)
class Clock:
    """The times of a day that a rule names. The day is cut into steps of `step` seconds. Each step that counts has
    times at `offsets`, in seconds from its beginning.

    From `origin` on, every `interval`th step counts if it begins in `hours`. A step shorter than an hour must also
    begin in `minutes`, a step of a second also at `seconds`.
    """

    step: int
    interval: int
    origin: datetime
    offsets: tuple[int, ...]
    hours: frozenset[int] = frozenset(range(24))
    minutes: frozenset[int] = frozenset(range(60))
    seconds: frozenset[int] = frozenset(range(60))

    def phase(self, day: datetime) -> int:
        """A key of the day: days with the same key have the same times."""
        # Steps from the origin to the beginning of the day.
        passed = (day - self.origin) // timedelta(seconds=self.step)
        return -passed % self.interval

    def times(self, day: datetime, begin: datetime) -> Iterator[datetime]:
        """The times of this day, from `begin` on, in order. `day` is a midnight."""
        skipped = max(0, (begin - day) // timedelta(seconds=self.step)) if begin > day else 0
        for number in self._numbers(self.phase(day)):
            if number >= skipped:
                for offset in self.offsets:
                    wall = day + timedelta(seconds=number * self.step + offset)
                    if wall >= begin:
                        yield wall

    def _numbers(self, first: int) -> Iterator[int]:
        """The numbers of the counted steps of a day, from midnight; `first` is the first of them."""
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
        """The ranges of the wanted steps, and an upper bound for the number of these steps."""
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
