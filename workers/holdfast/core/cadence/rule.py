"""Recurrence rules of RFC 5545: a DTSTART that is frozen when the rule is read, RRULEs, RDATEs and EXDATEs.

Rules run on the clock of their zone. By section 3.3.10, a local time in the skipped hour is left out and not counted. A
time that comes twice counts the first time. HOURLY, MINUTELY and SECONDLY without any BY part count elapsed time
instead, so that no hour is lost or doubled.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from functools import lru_cache

from holdfast.core.cadence.moments import EPOCH, local, moment_at, wall_of, zone
from holdfast.core.cadence.recurrence import Recurrence, recurrence
from holdfast.errors import InvalidScheduleError

_LINE = re.compile(r"(DTSTART|RRULE|RDATE|EXDATE)((?:;[A-Z]+=(?:\"[^\"]*\"|[^\":;]+))*):(.+)", re.ASCII | re.IGNORECASE)
_PARAMETER = re.compile(r";([A-Z]+)=(?:\"([^\"]*)\"|([^\":;]+))", re.ASCII | re.IGNORECASE)
_SPACE_IN_TIME = re.compile(r"(?<=\d) (?=\d\d:)", re.ASCII)  # as Python writes a time
_RULE_ALONE = re.compile(r"[A-Z]+=", re.ASCII | re.IGNORECASE)
MOST_TEXT = 32_768  # characters
MOST_DATES = 1000  # RDATEs and EXDATEs together


@dataclass(frozen=True, slots=True)
class RecurrenceRule:
    """`start` is a local time of `timezone`; `extra` and `without` are moments (RDATE, EXDATE), in order.

    `without_days` are days of `timezone`: an EXDATE without a time takes out the whole day."""

    start: datetime
    timezone: str
    recurrences: tuple[Recurrence, ...]
    extra: tuple[int, ...] = ()
    without: tuple[int, ...] = ()
    without_days: frozenset[date] = frozenset()

    def following(self, after: int) -> int | None:
        while (found := self._candidate(after)) is not None and (end := self._end_of_gap(found)) is not None:
            after = end  # about as often as there are EXDATEs
        return found

    def _end_of_gap(self, moment: int) -> int | None:
        """The last moment that the same EXDATE takes out as `moment`; None if no EXDATE takes it out."""
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
    """Read RFC 5545's lines, or the text after `RRULE:` alone; InvalidScheduleError names the part that is wrong.

    Without a DTSTART the rule starts at `now`, on a full second. TZID goes before `timezone`.
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
    """Reads a rule back from the text that `str` made of it, without checks."""
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
            f"rule line {line[:200]!r}: of parameters, dates may have one TZID and one VALUE, RRULE none"
        )
    if parameters.get("VALUE", "DATE").upper() not in ("DATE", "DATE-TIME"):
        raise InvalidScheduleError(
            f"rule line {line[:200]!r}: VALUE is {parameters['VALUE']!r}, allowed: DATE and DATE-TIME"
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
                    f"rule date {days[0]!r} of EXDATE is a day of the rule's time zone, {rule.timezone}: "
                    f"leave TZID={timezone[:80]} out, or write times"
                )
            return replace(
                rule,
                without=tuple(sorted({*rule.without, *_moments(times, timezone)})),
                without_days=rule.without_days | {_wall(day, timezone)[0].date() for day in days},
            )
        case _:
            return replace(rule, recurrences=(*rule.recurrences, recurrence(value, rule.timezone)))


def _parted_dates(value: str) -> tuple[list[str], list[str]]:
    """The dates of a line that have a time, and those that have none."""
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
