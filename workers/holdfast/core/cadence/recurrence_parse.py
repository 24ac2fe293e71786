"""Reads one RRULE: each part is checked by name, and what RFC 5545 does not allow beside it is refused."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import timedelta

from holdfast.core.cadence.moments import moment_at, wall_of
from holdfast.core.cadence.recurrence import Recurrence
from holdfast.errors import InvalidScheduleError

FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
WEEKDAYS = ("MO", "TU", "WE", "TH", "FR", "SA", "SU")
_ONLY_OF = {  # the frequencies beside which a part may stand
    "BYWEEKNO": ("YEARLY",),
    "BYYEARDAY": ("YEARLY", "HOURLY", "MINUTELY", "SECONDLY"),
    "BYMONTHDAY": ("YEARLY", "MONTHLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY"),
}
MOST = 10_000  # the largest COUNT: the times before are counted again at each search

_NUMBERS = r"[+-]?\d{1,3}(?:,[+-]?\d{1,3})*"
_SHAPES = {
    "FREQ": "|".join(FREQUENCIES),
    "INTERVAL": r"0*[1-9]\d{0,6}",
    "COUNT": r"0*[1-9]\d{0,4}",
    "UNTIL": r"[\dTZ:.+-]+",  # read by wall_of
    "WKST": "MO|TU|WE|TH|FR|SA|SU",
    "BYDAY": r"(?:[+-]?\d{1,2})?(?:MO|TU|WE|TH|FR|SA|SU)(?:,(?:[+-]?\d{1,2})?(?:MO|TU|WE|TH|FR|SA|SU))*",
    "BYMONTH": _NUMBERS,
    "BYMONTHDAY": _NUMBERS,
    "BYYEARDAY": _NUMBERS,
    "BYWEEKNO": _NUMBERS,
    "BYHOUR": _NUMBERS,
    "BYMINUTE": _NUMBERS,
    "BYSECOND": _NUMBERS,
    "BYSETPOS": _NUMBERS,
}
_BOUNDS = {
    "BYMONTH": (1, 12),
    "BYHOUR": (0, 23),
    "BYMINUTE": (0, 59),
    "BYSECOND": (0, 59),
    "BYMONTHDAY": (-31, 31),
    "BYYEARDAY": (-366, 366),
    "BYWEEKNO": (-53, 53),
    "BYSETPOS": (-366, 366),
}


def recurrence(text: str, timezone: str) -> Recurrence:
    """Read the text after `RRULE:`; InvalidScheduleError names the part, its value and the values allowed."""
    parts = _parts(text)
    if "FREQ" not in parts:
        raise InvalidScheduleError(f"rule {text!r} lacks FREQ, one of {', '.join(FREQUENCIES)}")
    if "COUNT" in parts and "UNTIL" in parts:
        raise InvalidScheduleError(f"rule {text!r} has both COUNT and UNTIL: give one")
    parsed = Recurrence(
        parts.pop("FREQ"),
        int(parts.pop("INTERVAL", 1)),
        count=_count(parts.pop("COUNT", None)),
        until=_until(parts.pop("UNTIL", None), timezone),
        parts=tuple(parts.items()),
    )
    return _accepted(parsed, text)


def _parts(text: str) -> dict[str, str]:
    parts: dict[str, str] = {}
    for pair in filter(None, text.strip().upper().split(";")):
        name, _, value = pair.partition("=")
        if name not in _SHAPES:
            raise InvalidScheduleError(f"rule {text!r}: {name!r} is no part of a rule; there are {', '.join(_SHAPES)}")
        if name in parts:
            raise InvalidScheduleError(f"rule {text!r} names {name} twice")
        if not re.fullmatch(_SHAPES[name], value, re.ASCII) or not _within(name, value):
            raise InvalidScheduleError(f"rule {text!r}: {name} is {value!r}, allowed: {_allowed(name)}")
        parts[name] = value
    return parts


def _within(name: str, value: str) -> bool:
    if name not in _BOUNDS:
        return True
    low, high = _BOUNDS[name]
    numbers = [int(number) for number in value.split(",")]
    return all(low <= number <= high and (number != 0 or low == 0) for number in numbers)


def _allowed(name: str) -> str:
    if name in _BOUNDS:
        low, high = _BOUNDS[name]
        return f"numbers from {low} to {high}{'' if low >= 0 else ' but 0'}, with commas"
    return {
        "FREQ": ", ".join(FREQUENCIES),
        "INTERVAL": "a number from 1 to 9999999",
        "COUNT": f"a number from 1 to {MOST}",
        "UNTIL": "a date such as 20271231T235959Z",
        "WKST": "a day, MO to SU",
        "BYDAY": "days, MO to SU, with commas, with a number in front where it is the nth",
    }[name]


def _count(value: str | None) -> int | None:
    if value is not None and int(value) > MOST:
        raise InvalidScheduleError(
            f"rule: COUNT is {value}, allowed: {_allowed('COUNT')}; the limit of a schedule has no such bound"
        )
    return None if value is None else int(value)


def _until(value: str | None, timezone: str) -> int | None:
    """The moment; a date without a time holds to its end."""
    if value is None:
        return None
    try:
        wall, its_zone = wall_of(value, timezone)
        if "T" not in value:
            return moment_at(wall + timedelta(days=1), timezone) - 1000
        return moment_at(wall, its_zone)
    except (ValueError, OverflowError) as error:
        raise InvalidScheduleError(f"rule: UNTIL is {value!r}, allowed: {_allowed('UNTIL')}") from error


def _accepted(rule: Recurrence, text: str) -> Recurrence:
    """Check that the parts fit together; some are for some frequencies only (RFC 5545, 3.3.10)."""
    parts = dict(rule.parts)
    for name, of in _ONLY_OF.items():
        if name in parts and rule.frequency not in of:
            raise InvalidScheduleError(
                f"rule {text!r}: {name} is not for FREQ={rule.frequency}, but for {', '.join(of)}{_instead(name, rule)}"
            )
    which = [int(number) for number in re.findall(r"[+-]?\d+", parts.get("BYDAY", ""))]
    if which and rule.frequency not in ("YEARLY", "MONTHLY"):
        raise InvalidScheduleError(f"rule {text!r}: BYDAY may say which of a month only with FREQ=MONTHLY or YEARLY")
    if which and "BYWEEKNO" in parts:
        raise InvalidScheduleError(f"rule {text!r}: BYDAY with BYWEEKNO has days of that week: leave the number out")
    most = 53 if rule.frequency == "YEARLY" and "BYMONTH" not in parts else 5
    if not all(1 <= abs(number) <= most for number in which):
        raise InvalidScheduleError(
            f"rule {text!r}: BYDAY is {parts['BYDAY']!r}, allowed in front of a day: 1 to {most}, -1 to -{most}"
        )
    if not _has_such_a_day(parts):
        raise InvalidScheduleError(f"rule {text!r} never fires: none of these months has such a day")
    if "BYSETPOS" in parts and set(parts) <= {"BYSETPOS", "WKST"}:
        raise InvalidScheduleError(f"rule {text!r}: BYSETPOS chooses among the times of another BY part; give one")
    return rule


def _instead(name: str, rule: Recurrence) -> str:
    """The rule that means the same with a part that is not for its frequency, where there is one."""
    parts = dict(rule.parts)
    if rule.frequency not in ("WEEKLY", "DAILY") or rule.interval > 1 or "BYSETPOS" in parts:
        return ""
    frequency = "DAILY" if name == "BYMONTHDAY" and "BYWEEKNO" not in parts else "YEARLY"
    alone = rule.frequency == "DAILY" and not parts.keys() & {"BYDAY", "BYMONTHDAY", "BYYEARDAY"}
    week = f" and BYDAY={','.join(WEEKDAYS)}" if alone else ""
    return f": write FREQ={frequency} with the same parts{week}"


def _has_such_a_day(parts: dict[str, str]) -> bool:
    months = [int(month) for month in parts.get("BYMONTH", "1").split(",")]
    days = [abs(int(day)) for day in parts.get("BYMONTHDAY", "1").split(",")]
    return min(days) <= max(monthrange(2000, month)[1] for month in months)
