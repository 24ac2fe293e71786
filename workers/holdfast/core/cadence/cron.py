"""Cron expressions: five fields, six with seconds first, `@daily` and its like, `CRON_TZ=Zone` in front.

Each field is read here before cronsim sees it. Terms that cronsim would misread are respelled. Forms of other programs
that Holdfast does not accept are refused, with the form to write instead. When the clock is put forward or back,
Holdfast does the same as Debian's cron. An expression with fixed hours comes due once a day: if the clock skips its
time, right after the gap. An expression for every hour or minute follows the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

from cronsim import CronSim, CronSimError

from holdfast.core.cadence.moments import LATEST, exists, first_change, is_plain, local, moment_at, zone
from holdfast.errors import InvalidScheduleError

ALIASES = {
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
    "@monthly": "0 0 1 * *",
    "@weekly": "0 0 * * 0",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@hourly": "0 * * * *",
}

_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")


@dataclass(frozen=True, slots=True)
class _Field:
    """One field of a cron expression. `allowed`: its values, for errors. `names`: the words for the values, the first
    one for `low`."""

    name: str
    low: int
    high: int
    allowed: str
    names: tuple[str, ...] = ()
    is_day: bool = False

    def value(self, text: str) -> int:
        """The value of a number or a name. Raises `_RefusedError` if this field does not allow it."""
        if text in self.names:
            return self.low + self.names.index(text)
        if text.isdecimal() and self.low <= int(text) <= self.high:
            return int(text)
        raise _RefusedError

    def spelled(self, value: int, like: str) -> str:
        return self.names[value - self.low] if like in self.names else str(value)


_DAY = _Field("day-of-month", 1, 31, "1-31, L, LW, ?", is_day=True)
_WEEKDAY = _Field("day-of-week", 0, 7, "0-7 or SUN-SAT, with #1 to #5 or L (FRI#2, FRIL), ?", _DAYS, is_day=True)
_FIELDS = (
    _Field("second", 0, 59, "0-59"),
    _Field("minute", 0, 59, "0-59"),
    _Field("hour", 0, 23, "0-23"),
    _DAY,
    _Field("month", 1, 12, "1-12 or JAN-DEC", _MONTHS),
    _WEEKDAY,
)
_TERM = re.compile(r"(\*|[A-Z]{3}|\d+)(?:-([A-Z]{3}|\d+))?(?:/(\d+))?", re.ASCII)
_NTH = re.compile(r"([A-Z]{3}|\d)(L|#[1-5])", re.ASCII)
_LAST_OF_OTHERS = re.compile(r"L([A-Z]{3}|\d)|([A-Z]{3}|\d)#(?:L|-1)", re.ASCII)
_DAY_IN_STEPS = re.compile(r"(LW?|(?:[A-Z]{3}|\d)(?:L|#[1-5]))/\d+", re.ASCII)
_YEARS_GIVEN = re.compile(r"(\d{4})(?:-(\d{4}))?", re.ASCII)
_WORKDAYS = "BYDAY=MO,TU,WE,TH,FR"
_PREFIX = re.compile(r"CRON_TZ=(\S+)\s+", re.ASCII)
MOST_TEXT = 1000  # characters
_YEARS = 50  # how far cronsim searches before it gives up


@dataclass(frozen=True, slots=True)
class Cron:
    """A cron expression on the clock of `timezone`. `expression` has its fields in one spelling."""

    expression: str
    timezone: str

    def following(self, after: int) -> int | None:
        if self._is_for_fixed_hours:
            walls = _series(self.expression, local(after, self.timezone))
            return next((moment for wall in walls if (moment := self._right_after(wall)) > after), None)
        return self._with_the_clock(after)

    @property
    def _is_for_fixed_hours(self) -> bool:
        return not any(field.startswith("*") for field in self.expression.split()[-5:-3])

    def _right_after(self, wall: datetime) -> int:
        """The moment of a local time. If the time comes twice, the first; if the clock skips it, the first moment after
        the gap."""
        while not exists(wall, self.timezone):
            wall = wall.replace(second=0) + timedelta(minutes=1)
        return moment_at(wall, self.timezone)

    def _with_the_clock(self, after: int) -> int | None:
        """The next moment, for an expression that follows the clock. The search goes from one change of the clock to
        the next: in between, local times and moments run in parallel."""
        while True:
            now = local(after, self.timezone)
            wall = next(_series(self.expression, now), None)
            if wall is None:
                return None
            found = after + (wall - now.replace(tzinfo=None)) // timedelta(milliseconds=1)
            if is_plain(wall, now, self.timezone) or (change := first_change(after, found, self.timezone)) is None:
                return found
            if (there := local(change, self.timezone).replace(tzinfo=None)) and self._is_at(there):
                return change
            after = change

    def _is_at(self, wall: datetime) -> bool:
        return next(_series(self.expression, wall - timedelta(seconds=1)), None) == wall


def _series(expression: str, after: datetime) -> Iterator[datetime]:
    """The local times of an expression. cronsim gets no time zone here, which makes it ten times as fast."""
    try:
        yield from CronSim(expression, after.replace(tzinfo=None, fold=0))
    except (OverflowError, ValueError):  # beyond the year 9999
        return


def cron(text: str, timezone: str = "UTC") -> Cron:
    """Read a cron expression. Raises InvalidScheduleError for a wrong field, which it names, or if the expression never
    comes due."""
    if len(text) > MOST_TEXT:
        raise InvalidScheduleError(f"cron: {len(text)} characters, at most {MOST_TEXT} are allowed")
    prefix = _PREFIX.match(text.strip())
    name = prefix[1] if prefix else timezone
    zone(name)
    return _checked(text.strip()[prefix.end() if prefix else 0 :], name)


class _RefusedError(ValueError):
    """A term that Holdfast does not accept. The text is the form to write instead; empty if none is known."""


@lru_cache(maxsize=4096)
def _checked(text: str, name: str) -> Cron:
    expanded = Cron(_plain(text), name)
    try:
        comes = expanded.following(0)
    except CronSimError as error:  # the fields are right, but not together
        raise InvalidScheduleError(f"cron {text!r} never fires: none of these months has such a day") from error
    if comes is None or comes > LATEST:
        raise InvalidScheduleError(f"cron {text!r} never fires: no such day within {_YEARS} years")
    return expanded


def _plain(text: str) -> str:
    """The expression with its fields in a spelling that cronsim reads correctly."""
    expression = ALIASES.get(text.lower(), text.upper())  # cronsim does not know names in small letters
    if expression.startswith("@"):
        raise InvalidScheduleError(f"cron {text!r}: no such name; {_other_name(text)}")
    fields = expression.split()
    if len(fields) not in (5, 6):
        raise InvalidScheduleError(
            f"cron {text!r}: {len(fields)} fields; five (minute hour day month weekday) or six (with seconds first) "
            f"are needed{_without_year(fields)}"
        )
    plain: list[str] = []
    for number, (field, said) in enumerate(zip(_FIELDS[-len(fields) :], fields, strict=True), 1):
        try:
            plain.append(_field(field, said))
        except _RefusedError as refused:
            remedy = str(refused) or f"allowed are {field.allowed}, *, lists, ranges and /steps"
            raise InvalidScheduleError(
                f"cron {text!r}: field {number} ({field.name}) is {_as_written(text, number)!r}: {remedy}"
            ) from None
    return " ".join(plain)


def _as_written(text: str, number: int) -> str:
    return (text.split() if not text.startswith("@") else ALIASES[text.lower()].split())[number - 1]


def _other_name(text: str) -> str:
    length = re.fullmatch(r"@every\s+(\S+)", text, re.IGNORECASE)
    return f"write every={length[1]!r} instead of cron" if length else f"the names are {', '.join(ALIASES)}"


def _without_year(fields: list[str]) -> str:
    """The remedy for an expression with a seventh field, the year; else an empty text. A schedule has a start and an
    end instead."""
    if len(fields) != 7:
        return ""
    six, years = " ".join(fields[:6]), _YEARS_GIVEN.fullmatch(fields[6])
    if fields[6] in ("*", "?"):
        return f", and no year: write {six!r}"
    if years is None:
        return f", and no year: write {six!r}, and one schedule with start and end for each run of years"
    first, last = years[1], years[2] or years[1]
    return f", and no year: write {six!r} with start {first}-01-01 and end {last}-12-31T23:59:59"


def _field(field: _Field, text: str) -> str:
    if "?" in text:
        return _any_day(field, text)
    return ",".join(_term(field, term) for term in text.split(","))


def _any_day(field: _Field, text: str) -> str:
    """The field with `*` in place of `?`: both mean any day."""
    if text == "?" and field.is_day:
        return "*"
    if "," in text:
        raise _RefusedError("? cannot be in a list: write * for every value")
    raise _RefusedError(f"write {text.replace('?', '*')}")


def _term(field: _Field, term: str) -> str:
    if field is _DAY and term in ("L", "LW"):
        return term
    if field is _WEEKDAY and (nth := _NTH.fullmatch(term)):
        return f"{field.value(nth[1])}{nth[2]}"
    match = _TERM.fullmatch(term)
    if match is None:
        raise _RefusedError(_instead(field, term))
    first, last, step = match.groups()
    if step is not None and int(step) == 0:
        raise _RefusedError("a step must be at least 1: write /1 for every value")
    if first == "*" and last is None:
        return term
    begin = field.value(first)
    return term if last is None else _range(field, (first, begin), last, step)


def _range(field: _Field, first: tuple[str, int], last: str, step: str | None) -> str:
    """A range, spelled for cronsim. A range of one value becomes this value: cronsim would read `5-5/2` as a range
    without an end."""
    said, begin = first
    end = field.value(last)
    if field is _WEEKDAY and last == "SUN" and begin > 0:
        end = 7  # a week that ends on Sunday: MON-SUN
    steps = f"/{step}" if step is not None else ""
    if end < begin:
        raise _RefusedError(
            f"the range {said}-{last}{steps} goes past the end: write {_unwrapped(field, first, end, step)}"
        )
    if begin + int(step or 1) > end:
        return said
    return f"{said}-{7 if last == 'SUN' else last}{steps}"


def _unwrapped(field: _Field, first: tuple[str, int], end: int, step: str | None) -> str:
    """Splits a range that goes past the field's end: `FRI-MON` becomes `FRI-SUN,MON`."""
    said, begin = first
    low = 1 if field is _WEEKDAY else field.low  # Sunday is 7 here
    size = field.high - low + 1
    if field is _WEEKDAY and begin == 7:
        return _run(field, said, 0, end) if step is None else _list(field, said, range(0, end + 1, int(step)))
    if step is not None:
        values = range(begin, end + size + 1, int(step))
        return _list(field, said, (value if value <= field.high else value - size for value in values))
    runs = [(begin, field.high)] + [(low, end)] * (end >= low)
    return ",".join(_run(field, said, *run) for run in runs)


def _run(field: _Field, like: str, low: int, high: int) -> str:
    return "-".join(field.spelled(value, like) for value in ((low, high) if high > low else (low,)))


def _list(field: _Field, like: str, values: Iterable[int]) -> str:
    return ",".join(field.spelled(value, like) for value in values)


def _instead(field: _Field, term: str) -> str:
    """The form to write for a term of another program; empty if none is known."""
    if field is _WEEKDAY and (last := _LAST_OF_OTHERS.fullmatch(term)):
        return f"write {last[1] or last[2]}L"
    if field is _WEEKDAY and term == "L":
        return "L needs its day in front: write SATL for the last Saturday of the month, SAT for each"
    if field.is_day and (day := _DAY_IN_STEPS.fullmatch(term)) and (day[1][0] == "L") == (field is _DAY):
        return f"one day has no steps: write {day[1]}"
    if field is _DAY and (before := re.fullmatch(r"L-(\d\d?)", term, re.ASCII)) and int(before[1]) <= 30:
        return f"write a rule (rrule) instead: FREQ=MONTHLY;BYMONTHDAY=-{int(before[1]) + 1} with BYHOUR and BYMINUTE"
    if field is _DAY and (near := re.fullmatch(r"(\d\d?)W", term, re.ASCII)):
        return _nearest_weekday(int(near[1]))
    return ""


def _nearest_weekday(day: int) -> str:
    if day == 1:
        return f"write a rule (rrule) instead: FREQ=MONTHLY;{_WORKDAYS};BYSETPOS=1 with BYHOUR and BYMINUTE"
    if not 2 <= day <= 27:
        return ""
    days = (f"{day};{_WORKDAYS}", f"{day - 1};BYDAY=FR", f"{day + 1};BYDAY=MO")
    lines = ", ".join(f"RRULE:FREQ=MONTHLY;BYMONTHDAY={one}" for one in days)
    return f"write a rule (rrule) of three lines instead: {lines}, each with BYHOUR and BYMINUTE"
