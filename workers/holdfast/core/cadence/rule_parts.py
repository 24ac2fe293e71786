"""The days that a rule names, and the years, months and weeks in which it counts.

What the rule does not say is taken from DTSTART before dateutil sees the rule (RFC 5545, 3.3.10), and dateutil starts
at the beginning of a period, never within one. Two things are not left to it: numbers of weeks, which it counts wrongly
around New Year, and a BYDAY that has days with and without a number, of which it would want both at once.
"""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from itertools import groupby
from typing import Any

from dateutil import rrule

Parts = tuple[tuple[str, str], ...]

_FREQUENCIES: dict[str, Any] = {"YEARLY": rrule.YEARLY, "MONTHLY": rrule.MONTHLY, "WEEKLY": rrule.WEEKLY}
_WEEKDAYS = {
    "MO": rrule.MO,
    "TU": rrule.TU,
    "WE": rrule.WE,
    "TH": rrule.TH,
    "FR": rrule.FR,
    "SA": rrule.SA,
    "SU": rrule.SU,
}
_NAMES = tuple(_WEEKDAYS)
_DATES = ("BYMONTH", "BYMONTHDAY", "BYDAY", "BYYEARDAY", "WKST")
_DAYS = {"BYDAY", "BYMONTHDAY", "BYYEARDAY"}
_NTH = re.compile(r"([+-]?\d+)?([A-Z]{2})", re.ASCII)


def numbers(parts: Parts, name: str) -> tuple[int, ...]:
    """The values of a part, in order, each once; none where it is not given."""
    text = dict(parts).get(name, "")
    return tuple(sorted({int(number) for number in text.split(",") if number}))


@dataclass(frozen=True, slots=True)
class Periods:
    """The years, months or weeks of a rule: each `interval`th from the one of DTSTART on counts, and has a number.

    `week_begins` is the first day of a week, 0 for Monday. `of_weeks`: a year has whole weeks, those of BYWEEKNO.
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
        """The first day; where a year has whole weeks, no later than it."""
        match self.frequency:
            case "WEEKLY":
                return datetime.fromordinal(number * 7 + 1 + self.week_begins)
            case "MONTHLY":
                return datetime(number // 12, number % 12 + 1, 1)  # noqa: DTZ001 - a local day
            case _:
                return datetime(number, 1, 1) - timedelta(days=3 if self.of_weeks else 0)  # noqa: DTZ001


def periods(frequency: str, interval: int, parts: Parts) -> Periods:
    given = dict(parts)
    return Periods(frequency, interval, _NAMES.index(given.get("WKST", "MO")), "BYWEEKNO" in given)


def days(within: Periods, parts: Parts, start: datetime, first: datetime, end: datetime) -> Iterator[datetime]:
    """The days of the periods that count, from the beginning of the one that has `first`, to `end`; all are midnights.

    ValueError or TypeError for impossible parts.
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
    """Every `interval`th day from `origin` on that the date parts name, from `first` to `end`; all are midnights."""
    dates = _dates(parts)
    if {name for name, _ in dates} <= {"WKST"}:
        late = -(first - origin).days % interval
        return (first + timedelta(days=number) for number in range(late, (end - first).days + 1, interval))
    if {name for name, _ in dates} <= {"WKST", "BYMONTH"}:
        dates = (*dates, ("BYDAY", ",".join(_NAMES)))
    named = _found("MONTHLY", 1, dates, first, end)  # dateutil is fastest at whole months
    return (day for day in named if (day - origin).days % interval == 0)


def _completed(frequency: str, parts: Parts, start: datetime) -> Parts:
    """The date parts, with those that the rule leaves to DTSTART."""
    dates, given = _dates(parts), dict(parts)
    if given.keys() & _DAYS:
        return dates
    if frequency == "WEEKLY" or "BYWEEKNO" in given:
        return (*dates, ("BYDAY", _NAMES[start.weekday()]))
    dates = (*dates, ("BYMONTHDAY", str(start.day)))
    return dates if frequency == "MONTHLY" or "BYMONTH" in given else (*dates, ("BYMONTH", str(start.month)))


def _dates(parts: Parts) -> Parts:
    return tuple(part for part in parts if part[0] in _DATES)


def _found(frequency: str, interval: int, dates: Parts, begin: datetime, end: datetime) -> Iterator[datetime]:
    """The days that dateutil finds, each once, where `dates` say enough."""
    found = (
        rrule.rrule(_FREQUENCIES[frequency], dtstart=begin, interval=interval, until=end, **options)
        for options in _options(dates)
    )
    return (day for day, _ in groupby(heapq.merge(*found)))


@lru_cache(maxsize=4096)
def _options(dates: Parts) -> tuple[dict[str, Any], ...]:
    """What dateutil is asked: once for weekdays without a number, once for those that have one."""
    given = dict(dates)
    weekdays = [_weekday(*found) for found in _NTH.findall(given.pop("BYDAY", ""))]
    asked: dict[str, Any] = {
        name.lower(): [int(one) for one in given[name].split(",")] for name in given if name != "WKST"
    }
    asked["wkst"] = _WEEKDAYS[given.get("WKST", "MO")]
    kinds = ([day for day in weekdays if day.n is None], [day for day in weekdays if day.n is not None])
    return tuple({**asked, "byweekday": kind} for kind in kinds if kind) or (asked,)


def _weekday(number: str, day: str) -> Any:
    return _WEEKDAYS[day](int(number)) if number else _WEEKDAYS[day]


def _week(day: date, begins: int) -> tuple[int, int, int]:
    """The year of the week of a day, its number, and the number of weeks of this year (ISO 8601, with any first day).

    A week is of the year that has its fourth day.
    """
    fourth = date.fromordinal(day.toordinal() - (day.weekday() - begins) % 7 + 3)
    last = date(fourth.year, 12, 31)
    weeks = (_day_of_year(last) - (last.weekday() - begins - 3) % 7 - 1) // 7 + 1
    return fourth.year, (_day_of_year(fourth) - 1) // 7 + 1, weeks


def _day_of_year(day: date) -> int:
    return day.toordinal() - date(day.year, 1, 1).toordinal() + 1
