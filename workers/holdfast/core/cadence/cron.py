"""Cron expressions, by cronsim: five fields, six with seconds first, `@daily` and its like, `CRON_TZ=Zone` in front.

At a change of the clock it does as Debian's cron: what is set for fixed hours runs once (in the lost hour: right after
it), what is set for every hour or minute goes on with the clock.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC
from functools import lru_cache

from cronsim import CronSim, CronSimError

from holdfast.core.cadence.moments import LATEST, local, moment_of, zone
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

# What a field may hold, by the name that cronsim's messages use.
_FIELDS = {
    "second": "0-59",
    "minute": "0-59",
    "hour": "0-23",
    "day-of-month": "1-31, L or LW",
    "month": "1-12 or JAN-DEC",
    "day-of-week": "0-7 or SUN-SAT, with #1 to #5 or L",
}
_PREFIX = re.compile(r"CRON_TZ=(\S+)\s+", re.ASCII)
_YEARS = 50  # how far cronsim searches before it gives up


@dataclass(frozen=True, slots=True)
class Cron:
    """`expression` with its fields in one spelling, on the clock of `timezone`."""

    expression: str
    timezone: str

    def following(self, after: int) -> int | None:
        start = local(after, self.timezone)
        for when in CronSim(self.expression, start.astimezone(UTC) if self._universal else start):
            if moment_of(when) > after:  # in an hour that comes twice cronsim looks from its first time
                return moment_of(when)
        return None

    @property
    def _universal(self) -> bool:
        return self.timezone == "UTC"  # without a change of the clock cronsim needs no look at it


def cron(text: str, timezone: str = "UTC") -> Cron:
    """Read a cron expression; InvalidScheduleError names the field that is wrong, and one that never comes due."""
    prefix = _PREFIX.match(text.strip())
    name = prefix[1] if prefix else timezone
    zone(name)
    return _checked(text.strip()[prefix.end() if prefix else 0 :], name)


@lru_cache(maxsize=4096)
def _checked(text: str, name: str) -> Cron:
    expression = ALIASES.get(text.lower(), " ".join(text.split()))
    if expression.startswith("@"):
        raise InvalidScheduleError(f"cron {text!r}: no such name; there are {', '.join(ALIASES)}")
    made = Cron(expression, name)
    try:
        comes = made.following(0)
    except CronSimError as error:
        raise InvalidScheduleError(f"cron {text!r}: {_fault(str(error), expression)}") from error
    if comes is None or comes > LATEST:
        raise InvalidScheduleError(f"cron {text!r} never fires: no such day within {_YEARS} years")
    return made


def _fault(said: str, expression: str) -> str:
    """Which field, what it holds and what it may hold; cronsim names the field alone."""
    fields = expression.split()
    if len(fields) not in (5, 6):
        return f"{len(fields)} fields, wanted are five (minute hour day month weekday) or six (with seconds first)"
    name = said.removeprefix("Bad ")
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
