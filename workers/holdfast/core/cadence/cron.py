"""Cron expressions, by cronsim: five fields, six with seconds first, `@daily` and its like, `CRON_TZ=Zone` in front.

At a change of the clock it does as Debian's cron: what is set for fixed hours runs once (in the lost hour: right after
it), what is set for every hour or minute goes on with the clock.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
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

# The values that a field may hold, by the name that cronsim's messages use.
_FIELDS = {
    "second": "0-59",
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31, L or LW",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT, with #1 to #5 or L",
}
_PREFIX = re.compile(r"CRON_TZ=(\S+)\s+", re.ASCII)
MOST_TEXT = 1000  # characters
_YEARS = 50  # how far cronsim searches before it gives up


@dataclass(frozen=True, slots=True)
class Cron:
    """`expression` with its fields in one spelling, on the clock of `timezone`."""

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
        """The moment of a local time, the first of two; of one that the clock leaves out, the first after it."""
        while not exists(wall, self.timezone):
            wall = wall.replace(second=0) + timedelta(minutes=1)
        return moment_at(wall, self.timezone)

    def _with_the_clock(self, after: int) -> int | None:
        """From one change of the clock to the next: between them local times and moments go along."""
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
    """Local times: cronsim knows no zone here, which makes it ten times as fast."""
    try:
        yield from CronSim(expression, after.replace(tzinfo=None, fold=0))
    except (OverflowError, ValueError):  # beyond the year 9999
        return


def cron(text: str, timezone: str = "UTC") -> Cron:
    """Read a cron expression; InvalidScheduleError names the field that is wrong, and one that never comes due."""
    if len(text) > MOST_TEXT:
        raise InvalidScheduleError(f"cron: {len(text)} characters, at most {MOST_TEXT} are allowed")
    prefix = _PREFIX.match(text.strip())
    name = prefix[1] if prefix else timezone
    zone(name)
    return _checked(text.strip()[prefix.end() if prefix else 0 :], name)


@lru_cache(maxsize=4096)
def _checked(text: str, name: str) -> Cron:
    expression = ALIASES.get(text.lower(), " ".join(text.upper().split()))  # cronsim has no words for mon and jan
    if expression.startswith("@"):
        raise InvalidScheduleError(f"cron {text!r}: no such name; there are {', '.join(ALIASES)}")
    expanded = Cron(expression, name)
    try:
        comes = expanded.following(0)
    except CronSimError as error:
        raise InvalidScheduleError(f"cron {text!r}: {_fault(str(error), text)}") from error
    if comes is None or comes > LATEST:
        raise InvalidScheduleError(f"cron {text!r} never fires: no such day within {_YEARS} years")
    return expanded


def _fault(message: str, text: str) -> str:
    """The error's field, its value and the values allowed; cronsim names the field alone."""
    fields = text.split()
    if len(fields) not in (5, 6):
        return f"{len(fields)} fields; five (minute hour day month weekday) or six (with seconds first) are needed"
    name = message.removeprefix("Bad ")
    number = list(_FIELDS)[6 - len(fields) :].index(name)
    if name == "day-of-month" and _well_formed(fields[number]):
        return "it never fires: none of these months has such a day"
    return f"field {number + 1} ({name}) is {fields[number]!r}, allowed: {_FIELDS[name]}, *, lists, ranges and /steps"


def _well_formed(day: str) -> bool:
    try:
        CronSim(f"0 0 {day} 1 *", local(0, "UTC"))
    except CronSimError:
        return False
    return True
