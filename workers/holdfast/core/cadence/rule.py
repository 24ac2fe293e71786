"""Recurrence rules of RFC 5545: a DTSTART that is frozen when the rule is read, RRULEs, RDATEs and EXDATEs.

Rules run on the clock of their zone. By section 3.3.10, a local time in the skipped hour is left out and not counted.
Of a local time that comes twice, only the first counts. HOURLY, MINUTELY and SECONDLY without any BY part count elapsed
time instead, so that no hour is lost or doubled.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from calendar import monthrange
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from functools import lru_cache
from itertools import dropwhile, groupby, islice, takewhile

from holdfast.core.cadence.moments import EPOCH, Every, exists, local, moment_at, wall_of, zone
from holdfast.core.cadence.rule_parts import STEPS, WEEKDAYS, Clock, Parts, clock, days, each_day, numbers, periods
from holdfast.errors import InvalidScheduleError

# One RRULE: `rule_parts.days` finds its days, `rule_parts.clock` their times; both searches are bounded.
#
# A search begins with the whole period (year, month or week) that has the wanted moment. So the phase of INTERVAL is
# kept, and BYSETPOS counts in the whole period, also in the one that has DTSTART.

_EMPTY = 4000  # days that the date parts name and that have no time: after so many the search ends
_YEARS = 60  # more than the longest gap of a sensible rule (29 February on a Monday: 40 years, around 2100)
_LAST = datetime(9999, 12, 20)  # noqa: DTZ001 - a local time, after which nothing is searched
_LONGEST = timedelta(days=373)  # a period: a year, and the days of its last week beyond it
_SHIFT = timedelta(hours=3)  # more than any clock is put back


@dataclass(frozen=True, slots=True)
class Recurrence:
    """One RRULE. `parts`: its parts without FREQ, COUNT, UNTIL and INTERVAL. `until` is the last allowed moment."""

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
        """Local times from `first` on; `first` is not before `start`. The search ends after _YEARS years without a
        time."""
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
    """The last moment that COUNT allows. The answer is cached, so that searches need not count again."""
    newest = deque(islice(existing(rule.walls(start, start), timezone), rule.count), maxlen=1)
    return newest[0] if newest else None


def _midnight(wall: datetime) -> datetime:
    return wall.replace(hour=0, minute=0, second=0, microsecond=0)


def _at_positions(named: list[datetime], offsets: tuple[int, ...], positions: tuple[int, ...]) -> Iterator[datetime]:
    """Selects times of a period by their places (BYSETPOS): 1 is the first, -1 the last."""
    number = len(named) * len(offsets)
    places = {place - 1 if place > 0 else number + place for place in positions}
    for day, part in (divmod(place, len(offsets)) for place in sorted(places) if 0 <= place < number):
        yield named[day] + timedelta(seconds=offsets[part])


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
    """The local time of a moment, or an earlier local time if the clock was put back shortly before. So a search that
    begins here misses no time."""
    now, before = local(after, timezone), local(max(0, after - round(_SHIFT.total_seconds() * 1000)), timezone)
    return (now if now.utcoffset() == before.utcoffset() else now - _SHIFT).replace(tzinfo=None, microsecond=0)


# Reads one RRULE: each part is checked by name, and parts that RFC 5545 does not allow together are refused.

FREQUENCIES = ("YEARLY", "MONTHLY", "WEEKLY", "DAILY", "HOURLY", "MINUTELY", "SECONDLY")
_DAY = "|".join(WEEKDAYS)
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
    "WKST": _DAY,
    "BYDAY": rf"(?:[+-]?\d{{1,2}})?(?:{_DAY})(?:,(?:[+-]?\d{{1,2}})?(?:{_DAY}))*",
    **dict.fromkeys(("BYMONTH", "BYMONTHDAY", "BYYEARDAY", "BYWEEKNO"), _NUMBERS),
    **dict.fromkeys(("BYHOUR", "BYMINUTE", "BYSECOND", "BYSETPOS"), _NUMBERS),
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
    """Read the text after `RRULE:`. Raises InvalidScheduleError, which names the part, its value and the values
    allowed."""
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
            raise InvalidScheduleError(
                f"rule {text!r}: {name!r} is no part of a rule; the parts are {', '.join(_SHAPES)}"
            )
        if name in parts:
            raise InvalidScheduleError(f"rule {text!r} names {name} twice")
        if not re.fullmatch(_SHAPES[name], value, re.ASCII) or not _within(name, value):
            raise InvalidScheduleError(f"rule {text!r}: {name} is {value!r}; allowed: {_allowed(name)}")
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
            f"rule: COUNT is {value}; allowed: {_allowed('COUNT')}; for more runs, set the schedule's limit instead"
        )
    return None if value is None else int(value)


def _until(value: str | None, timezone: str) -> int | None:
    """The moment of UNTIL; a date without a time means the end of that day."""
    if value is None:
        return None
    try:
        wall, its_zone = wall_of(value, timezone)
        if "T" not in value:
            return moment_at(wall + timedelta(days=1), timezone) - 1000
        return moment_at(wall, its_zone)
    except (ValueError, OverflowError) as error:
        raise InvalidScheduleError(f"rule: UNTIL is {value!r}; allowed: {_allowed('UNTIL')}") from error


def _accepted(rule: Recurrence, text: str) -> Recurrence:
    """Check that the parts fit together. RFC 5545 (3.3.10) allows some parts with some frequencies only."""
    parts = dict(rule.parts)
    for name, of in _ONLY_OF.items():
        if name in parts and rule.frequency not in of:
            raise InvalidScheduleError(
                f"rule {text!r}: {name} needs FREQ={' or '.join(of)}, not {rule.frequency}{_instead(name, rule)}"
            )
    which = [int(number) for number in re.findall(r"[+-]?\d+", parts.get("BYDAY", ""))]
    if which and rule.frequency not in ("YEARLY", "MONTHLY"):
        raise InvalidScheduleError(f"rule {text!r}: a number in BYDAY, such as 2MO, needs FREQ=MONTHLY or YEARLY")
    if which and "BYWEEKNO" in parts:
        raise InvalidScheduleError(f"rule {text!r}: with BYWEEKNO, BYDAY takes weekdays without a number: MO, not 2MO")
    most = 53 if rule.frequency == "YEARLY" and "BYMONTH" not in parts else 5
    if not all(1 <= abs(number) <= most for number in which):
        raise InvalidScheduleError(
            f"rule {text!r}: BYDAY is {parts['BYDAY']!r}: a number before a day must be 1 to {most} or -1 to -{most}"
        )
    if not _has_such_a_day(parts):
        raise InvalidScheduleError(f"rule {text!r} never fires: none of these months has such a day")
    if "BYSETPOS" in parts and set(parts) <= {"BYSETPOS", "WKST"}:
        raise InvalidScheduleError(
            f"rule {text!r}: BYSETPOS chooses among the times of another BY part: add such a part"
        )
    return rule


def _instead(name: str, rule: Recurrence) -> str:
    """A rule with the same meaning, if a part is not allowed for the frequency; empty if there is none."""
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


_LINE = re.compile(r"(DTSTART|RRULE|RDATE|EXDATE)((?:;[A-Z]+=(?:\"[^\"]*\"|[^\":;]+))*):(.+)", re.ASCII | re.IGNORECASE)
_PARAMETER = re.compile(r";([A-Z]+)=(?:\"([^\"]*)\"|([^\":;]+))", re.ASCII | re.IGNORECASE)
_SPACE_IN_TIME = re.compile(r"(?<=\d) (?=\d\d:)", re.ASCII)  # as Python writes a time
_RULE_ALONE = re.compile(r"[A-Z]+=", re.ASCII | re.IGNORECASE)
MOST_TEXT = 32_768  # characters
MOST_DATES = 1000  # RDATEs and EXDATEs together


@dataclass(frozen=True, slots=True)
class RecurrenceRule:
    """Recurrence rules from a start on. `start` is a local time of `timezone`; `extra` and `without` are moments
    (RDATE, EXDATE), in order. `without_days` are days of `timezone`: an EXDATE without a time takes out the whole
    day."""

    start: datetime
    timezone: str
    recurrences: tuple[Recurrence, ...]
    extra: tuple[int, ...] = ()
    without: tuple[int, ...] = ()
    without_days: frozenset[date] = frozenset()

    def following(self, after: int) -> int | None:
        while (found := self._candidate(after)) is not None and (end := self._end_of_gap(found)) is not None:
            after = end  # this repeats about once for each EXDATE
        return found

    def _end_of_gap(self, moment: int) -> int | None:
        """The last moment of the gap that an EXDATE makes at `moment`: `moment` itself, or the end of its day if the
        EXDATE excludes the whole day. None if no EXDATE excludes `moment`."""
        place = bisect_left(self.without, moment)
        if place < len(self.without) and self.without[place] == moment:
            return moment
        if self.without_days and (day := local(moment, self.timezone).date()) in self.without_days:
            return max(moment, moment_at(datetime.combine(day, time.max), self.timezone))
        return None

    def _candidate(self, after: int) -> int | None:
        candidates = [one.following(self.start, self.timezone, after) for one in self.recurrences]
        candidates += self.extra[bisect_right(self.extra, after) :][:1]
        return min((moment for moment in candidates if moment is not None), default=None)

    def __str__(self) -> str:
        lines = [f"DTSTART;TZID={self.timezone}:{self.start:%Y%m%dT%H%M%S}"]
        lines += [f"RRULE:{one}" for one in self.recurrences]
        lines += [f"RDATE:{_dates(self.extra)}"] * bool(self.extra)
        lines += [f"EXDATE:{_dates(self.without)}"] * bool(self.without)
        days = ",".join(f"{day:%Y%m%d}" for day in sorted(self.without_days))
        lines += [f"EXDATE;VALUE=DATE:{days}"] * bool(days)
        return "\n".join(lines)


def rule(text: str, timezone: str, now: int) -> RecurrenceRule:
    """Read RFC 5545's lines, or the text after `RRULE:` alone. Raises InvalidScheduleError, which names the part that
    is wrong.

    Without a DTSTART the rule starts at `now`, on a full second. A TZID in the text overrides `timezone`.
    """
    if len(text) > MOST_TEXT:
        raise InvalidScheduleError(f"rule: {len(text)} characters, at most {MOST_TEXT} are allowed")
    parsed = _read(text, RecurrenceRule(local(now, timezone).replace(tzinfo=None, microsecond=0), timezone, ()))
    dates = len(parsed.extra) + len(parsed.without) + len(parsed.without_days)
    if dates > MOST_DATES:
        raise InvalidScheduleError(f"rule: {dates} dates, at most {MOST_DATES} are allowed")
    if not parsed.recurrences and not parsed.extra:
        raise InvalidScheduleError(f"rule {text!r} has neither an RRULE nor an RDATE")
    if parsed.following(-1) is None:
        raise InvalidScheduleError(f"rule {text!r} never fires: no such time was found")
    return parsed


@lru_cache(maxsize=4096)
def checked(text: str) -> RecurrenceRule:
    """Read a rule back from the text that `str` made of it, without checks."""
    return _read(text, RecurrenceRule(EPOCH.replace(tzinfo=None), "UTC", ()))


def _read(text: str, rule: RecurrenceRule) -> RecurrenceRule:
    lines = sorted(map(_parted, _lines(text)), key=lambda line: line[0] != "DTSTART")
    if [name for name, *_ in lines].count("DTSTART") > 1:
        raise InvalidScheduleError(f"rule {text[:200]!r} has more than one DTSTART")
    for line in lines:
        rule = _with(rule, *line)
    return rule


def _lines(text: str) -> list[str]:
    unfolded = re.sub(r"\r?\n[ \t]", "", text.strip())
    return [line.strip() for line in unfolded.splitlines() if line.strip()]


def _parted(line: str) -> tuple[str, dict[str, str], str]:
    """The name, the parameters and the value of a line; a bare `FREQ=…` is an RRULE."""
    match = _LINE.fullmatch(f"RRULE:{line}" if ":" not in line or _RULE_ALONE.match(line) else line)
    if match is None:
        raise InvalidScheduleError(
            f"rule line {line!r}: allowed are DTSTART, RRULE, RDATE and EXDATE, as in RRULE:FREQ=…"
        )
    pairs = [(name.upper(), quoted or value) for name, quoted, value in _PARAMETER.findall(match[2])]
    parameters, name = dict(pairs), match[1].upper()
    if len(parameters) < len(pairs) or parameters.keys() - {"TZID", "VALUE"} or (name == "RRULE" and parameters):
        raise InvalidScheduleError(
            f"rule line {line[:200]!r}: a line with dates may have one TZID and one VALUE parameter, an RRULE line has "
            "none"
        )
    if parameters.get("VALUE", "DATE").upper() not in ("DATE", "DATE-TIME"):
        raise InvalidScheduleError(
            f"rule line {line[:200]!r}: VALUE is {parameters['VALUE']!r}: DATE and DATE-TIME are allowed"
        )
    value = match[3].strip()
    return name, parameters, value if name == "RRULE" else _SPACE_IN_TIME.sub("T", value)


def _with(rule: RecurrenceRule, name: str, parameters: dict[str, str], value: str) -> RecurrenceRule:
    timezone = parameters.get("TZID", rule.timezone)
    zone(timezone)
    match name:
        case "DTSTART":
            start, timezone = _wall(value, timezone)
            return replace(rule, start=start, timezone=timezone)
        case "RDATE":
            times, days = _parted_dates(value)
            if days and rule.start.time() != time.min:
                raise InvalidScheduleError(
                    f"rule date {days[0]!r} of RDATE has no time of day, and the rule does not start at midnight: "
                    f"write {days[0]}T{rule.start:%H%M%S}"
                )
            return replace(rule, extra=tuple(sorted({*rule.extra, *_moments(times + days, timezone)})))
        case "EXDATE":
            times, days = _parted_dates(value)
            if days and timezone != rule.timezone:
                raise InvalidScheduleError(
                    f"rule date {days[0]!r} of EXDATE has no time, so it means a day of the rule's time zone, "
                    f"{rule.timezone}: leave TZID={timezone[:80]} out, or give a time"
                )
            return replace(
                rule,
                without=tuple(sorted({*rule.without, *_moments(times, timezone)})),
                without_days=rule.without_days | {_wall(day, timezone)[0].date() for day in days},
            )
        case _:
            return replace(rule, recurrences=(*rule.recurrences, recurrence(value, rule.timezone)))


def _parted_dates(value: str) -> tuple[list[str], list[str]]:
    """The dates of a line: first those with a time, then those without."""
    texts = value.split(",")
    return [text for text in texts if "T" in text], [text for text in texts if "T" not in text]


def _moments(texts: list[str], timezone: str) -> list[int]:
    return [moment_at(*_wall(text, timezone)) for text in texts]


def _wall(text: str, timezone: str) -> tuple[datetime, str]:
    try:
        return wall_of(text, timezone)
    except (ValueError, OverflowError) as error:
        raise InvalidScheduleError(
            f"rule date {text!r} cannot be read: write 20270131T093000 or 2027-01-31T09:30:00, with Z for UTC"
        ) from error


def _dates(moments: tuple[int, ...]) -> str:
    return ",".join(f"{local(moment, 'UTC'):%Y%m%dT%H%M%SZ}" for moment in moments)
