"""The BY parts of a rule, as dateutil takes them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from dateutil import rrule

Parts = tuple[tuple[str, str], ...]

_FREQUENCIES: dict[str, Any] = {
    "YEARLY": rrule.YEARLY,
    "MONTHLY": rrule.MONTHLY,
    "WEEKLY": rrule.WEEKLY,
    "DAILY": rrule.DAILY,
}
_WEEKDAYS = {
    "MO": rrule.MO,
    "TU": rrule.TU,
    "WE": rrule.WE,
    "TH": rrule.TH,
    "FR": rrule.FR,
    "SA": rrule.SA,
    "SU": rrule.SU,
}
_DATES = ("BYMONTH", "BYMONTHDAY", "BYDAY", "BYYEARDAY", "BYWEEKNO", "WKST")
_NTH = re.compile(r"([+-]?\d+)?([A-Z]{2})", re.ASCII)


def dates_only(parts: Parts) -> Parts:
    return tuple(part for part in parts if part[0] in _DATES)


def numbers(parts: Parts, name: str) -> tuple[int, ...]:
    """The values of a part, in order, each once; none where it is not given."""
    text = dict(parts).get(name, "")
    return tuple(sorted({int(number) for number in text.split(",") if number}))


def days(frequency: str, interval: int, parts: Parts, start: datetime, end: datetime) -> Any:
    """The days that dateutil finds, from `start` to `end`. ValueError or TypeError for impossible parts."""
    return rrule.rrule(_FREQUENCIES[frequency], dtstart=start, interval=interval, until=end, **_options(parts))


def each_day(interval: int, dates: Parts, origin: datetime, first: datetime, end: datetime) -> Iterator[datetime]:
    """Every `interval`th day from `origin` on that the date parts name, from `first` to `end`; all are midnights."""
    if {name for name, _ in dates} <= {"WKST"}:
        late = -(first - origin).days % interval
        return (first + timedelta(days=number) for number in range(late, (end - first).days + 1, interval))
    if {name for name, _ in dates} <= {"WKST", "BYMONTH"}:
        dates = (*dates, ("BYDAY", ",".join(_WEEKDAYS)))  # else it would take the day of the month that it starts on
    named: Iterator[datetime] = iter(days("MONTHLY", 1, dates, first, end))  # dateutil is fastest at whole months
    return (day for day in named if (day - origin).days % interval == 0)


@lru_cache(maxsize=4096)
def _options(parts: Parts) -> dict[str, Any]:
    return {_name(name): _value(name, value) for name, value in parts}


def _name(name: str) -> str:
    return "byweekday" if name == "BYDAY" else name.lower()


def _value(name: str, value: str) -> Any:
    match name:
        case "WKST":
            return _WEEKDAYS[value]
        case "BYDAY":
            return [_weekday(*found) for found in _NTH.findall(value)]
        case _:
            return [int(number) for number in value.split(",")]


def _weekday(number: str, day: str) -> Any:
    return _WEEKDAYS[day](int(number)) if number else _WEEKDAYS[day]
