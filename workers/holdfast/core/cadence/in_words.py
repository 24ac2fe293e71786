"""Says a cadence in English, for users who want to check their spelling of it."""

from __future__ import annotations

import calendar
import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import product
from types import MappingProxyType

from cronsim.explain import Expression

from holdfast.core.cadence.cron import Cron
from holdfast.core.cadence.moments import At, Continue, Every, Stop, local
from holdfast.core.cadence.rule import Recurrence, RecurrenceRule
from holdfast.core.cadence.rule_parts import STEPS, WEEKDAYS, numbers

_UNITS = (("day", 86_400_000), ("hour", 3_600_000), ("minute", 60_000))


def words(cadence: Cron | Every | RecurrenceRule | At | Continue | Stop, *, brief: bool = False) -> str:
    """The cadence as a sentence. `brief`: without the moment from which it counts."""
    match cadence:
        case Cron(expression, timezone):
            fields = expression.split()
            return f"{Expression(['0', *fields][-6:]).explain().rstrip('.')}, {timezone}"
        case Every(interval, anchor):
            return f"Every {_length(interval)}" + ("" if brief else f", counted from {_moment(anchor)}")
        case RecurrenceRule(start, timezone, recurrences):
            rules = " and ".join(_recurrence(each, start) for each in recurrences) or "The dates given"
            return f"{rules}, {timezone}" if brief else f"{rules}, from {start:%Y-%m-%d %H:%M:%S}, {timezone}"
        case At(moment):
            return f"Once, at {_moment(moment)}"
        case Continue(first):
            again = "again whenever a run has ended"
            return again.capitalize() if brief else f"From {_moment(first)} on, {again}"
        case Stop():
            return "Never"


def _length(interval: int) -> str:
    for name, size in _UNITS:
        if interval % size == 0:
            number = interval // size
            return name if number == 1 else f"{number} {name}s"
    return f"{interval / 1000:.3f}".rstrip("0").rstrip(".") + " s"


def _moment(moment: int) -> str:
    return f"{local(moment, 'UTC'):%Y-%m-%d %H:%M:%S} UTC"


# A recurrence rule: the usual forms as a sentence, every other one as it is written.

_CLOCK = {"BYHOUR", "BYMINUTE", "BYSECOND"}
_MOST_TIMES = 4  # of a day; a rule with more stands as it is written
_STEPS = {"HOURLY": "hour", "MINUTELY": "minute", "SECONDLY": "second"}
_PLACES = {1: "first", 2: "second", 3: "third", 4: "fourth", 5: "fifth"}
_WORKDAYS = "MO,TU,WE,TH,FR"
_NTH = re.compile(r"([+-]?\d+)([A-Z]{2})", re.ASCII)


def _recurrence(rule: Recurrence, start: datetime) -> str:
    days, end = _days(rule, start), _end(rule)
    if days is None:
        return str(rule)
    if rule.frequency in STEPS:
        return days + end
    hours, minutes, seconds = (numbers(rule.parts, name) for name in ("BYHOUR", "BYMINUTE", "BYSECOND"))
    times = [*product(hours or (start.hour,), minutes or (start.minute,), seconds or (start.second,))]
    if len(times) > _MOST_TIMES or (len(times) > 1 and "BYSETPOS" in dict(rule.parts)):
        return str(rule)
    shown = [f"{hour:02}:{minute:02}" + (f":{second:02}" if second else "") for hour, minute, second in times]
    return f"{days} at {_listed(shown)}{end}"


def _end(rule: Recurrence) -> str:
    times = "" if rule.count is None else f", {rule.count} times" if rule.count != 1 else ", once"
    return times + ("" if rule.until is None else f", until {_moment(rule.until)}")


def _days(rule: Recurrence, start: datetime) -> str | None:
    """The days of a rule, or the steps of a rule within a day. None if the rule has none of the usual forms."""
    given = {name: value for name, value in rule.parts if name not in _CLOCK and name != "WKST"}
    names, interval = given.keys(), rule.interval
    match rule.frequency:
        case "HOURLY" | "MINUTELY" | "SECONDLY":
            return None if rule.parts else f"Every {_counted(interval, _STEPS[rule.frequency])}"
        case "DAILY" if not names:
            return f"Every {_counted(interval, 'day')}"
        case "WEEKLY" | "DAILY" if names <= {"BYDAY"} and (rule.frequency == "WEEKLY" or interval == 1):
            named = _weekdays(given.get("BYDAY", WEEKDAYS[start.weekday()]))
            return f"Every {named}" if interval == 1 else f"Every {interval} weeks on {named}"
        case "MONTHLY" if names <= {"BYDAY", "BYMONTHDAY", "BYSETPOS"}:
            return _of(_of_month(given, start.day), f"every {_counted(interval, 'month')}")
        case "YEARLY" | "MONTHLY" if names <= {"BYDAY", "BYMONTHDAY", "BYMONTH"} and interval == 1:
            if "BYMONTH" in names or not names:
                months = numbers(rule.parts, "BYMONTH") or (start.month,)
                return _of(_of_month(given, start.day), _listed([calendar.month_name[month] for month in months]))
            return None
        case _:
            return None


def _of(days: str, period: str) -> str | None:
    return f"On {days} of {period}" if days else None


def _of_month(given: Mapping[str, str], usual: int) -> str:
    """The days of a month; empty if they have none of the usual forms. `usual`: the day if the rule names none."""
    match sorted(given.keys() - {"BYMONTH"}):
        case [] | ["BYMONTHDAY"]:
            days = [int(day) for day in given.get("BYMONTHDAY", str(usual)).split(",")]
            return f"the {_listed([_place(day) for day in days])}{' day' if max(days) < 0 else ''}"
        case ["BYDAY"] if all(_NTH.match(day) for day in given["BYDAY"].split(",")):
            nth = [_NTH.fullmatch(day) for day in given["BYDAY"].split(",")]
            return f"the {_listed([f'{_place(int(each[1]), _PLACES)} {_day_name(each[2])}' for each in nth if each])}"
        case ["BYDAY", "BYSETPOS"] if given["BYDAY"] == _WORKDAYS and given["BYSETPOS"].lstrip("+-").isdecimal():
            return f"the {_place(int(given['BYSETPOS']), _PLACES)} workday"
        case _:
            return ""


def _weekdays(text: str) -> str:
    if text == _WORKDAYS:
        return "Monday to Friday"
    return "day" if set(text.split(",")) == set(WEEKDAYS) else _listed([_day_name(day) for day in text.split(",")])


def _day_name(day: str) -> str:
    return calendar.day_name[WEEKDAYS.index(day)]


def _place(number: int, named: Mapping[int, str] = MappingProxyType({})) -> str:
    """A place in a month: `1st`, `last`, `third to last`; with `named`, in these words if they have it."""
    if number in named:
        return named[number]
    if number < 0:
        return "last" if number == -1 else f"{_place(-number, _PLACES)} to last"
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"


def _counted(number: int, noun: str) -> str:
    return noun if number == 1 else f"{number} {noun}s"


def _listed(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(texts[:-1]), texts[-1])))
