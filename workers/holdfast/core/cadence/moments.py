"""Converts moments (milliseconds since 1970) to local times of a time zone, and back.

This module also has the cadences that need no calendar: a fixed interval, one moment, and one run after the other.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from holdfast.errors import InvalidScheduleError
from holdfast_config.durations import seconds

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
WEEK = 7 * 86_400_000
OF_A_HOST = frozenset({"localtime", "posixrules"})  # files beside the zones: they differ from host to host
_RULE_DATE = re.compile(
    r"[1-9]\d{7}(?:T\d{4}(?:\d{2})?Z?)?"
    r"|[1-9]\d{3}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.0{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?",
    re.ASCII,
)
LATEST = 253_402_214_400_000  # 9999-12-31: datetime ends there, and with it every search


@cache
def zone(name: str) -> ZoneInfo:
    """A time zone by its IANA name. Raises InvalidScheduleError if the name is unknown."""
    try:
        if name in OF_A_HOST:
            raise ValueError(name)
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise InvalidScheduleError(
            f"time zone {name[:80]!r} is unknown: give an IANA name such as Europe/Berlin or UTC"
        ) from error


def local(moment: int, name: str) -> datetime:
    """A moment on the clock of a zone."""
    return (EPOCH + timedelta(milliseconds=moment)).astimezone(zone(name))


def moment_of(when: datetime) -> int:
    """The moment of a datetime that has a time zone."""
    return (when - EPOCH) // timedelta(milliseconds=1)


def exists(wall: datetime, name: str) -> bool:
    """True if a local time exists on the zone's clock. False for a time in the hour that the clock skips in spring."""
    there = wall.replace(tzinfo=zone(name), fold=0)
    return there.astimezone(UTC).astimezone(zone(name)).replace(tzinfo=None) == wall


def moment_at(wall: datetime, name: str) -> int:
    """The moment of a local time. In the hour that comes twice, the first."""
    return moment_of(wall.replace(tzinfo=zone(name), fold=0))


def is_plain(wall: datetime, now: datetime, name: str) -> bool:
    """True if a local time comes once, and its difference to UTC is the same as at `now`."""
    there = (wall.replace(tzinfo=zone(name), fold=fold).utcoffset() for fold in (0, 1))
    return all(one == now.utcoffset() for one in there)


def first_change(after: int, until: int, name: str) -> int | None:
    """The first moment after `after`, `until` included, at which the clock of a zone has been put forward or back."""
    before = local(after, name).utcoffset()
    while after < until:
        end = min(after + WEEK, until)
        if local(end, name).utcoffset() != before:
            return _halved(after, end, name)
        after = end
    return None


def _halved(low: int, high: int, name: str) -> int:
    before = local(low, name).utcoffset()
    while high - low > 1:
        middle = (low + high) // 2
        if local(middle, name).utcoffset() == before:
            low = middle
        else:
            high = middle
    return high


def wall_of(text: str, name: str) -> tuple[datetime, str]:
    """The local time of a text, and its zone. The text is a date, or date and time, of RFC 5545 or ISO 8601
    (`20270131T093000Z`, `2027-01-31T09:30:00+01:00`). With Z the zone is UTC; a time with another offset is converted
    to zone `name`. Raises ValueError for anything else."""
    if not _RULE_DATE.fullmatch(text):
        raise ValueError(text)
    when = datetime.fromisoformat(text)
    if when.tzinfo is None:
        return when, name
    its_zone = "UTC" if text.endswith("Z") else name
    return local(moment_of(when), its_zone).replace(tzinfo=None), its_zone


def read_moment(text: str, name: str) -> int:
    """Read `1767225600`, `1767225600.5`, `2026-01-01T00:00:00Z` or a local time in zone `name` as a moment. Raises
    InvalidScheduleError."""
    try:
        moment = _moment(text.strip(), name)
    except (ValueError, OverflowError):
        moment = -1
    if not 0 <= moment <= LATEST:
        raise InvalidScheduleError(
            f"time {text!r} cannot be read: give seconds since 1970 or ISO 8601, from 1970 to 9999, "
            "as in 2026-12-24T18:00:00Z"
        )
    return moment


def _moment(text: str, name: str) -> int:
    if text.replace(".", "", 1).isdecimal() and text.isascii() and "T" not in text:
        return round(float(text) * 1000)
    when = datetime.fromisoformat(text)
    return moment_of(when) if when.tzinfo else moment_at(when, name)


# A fixed interval from an anchor: `anchor + k * interval`, so that slow runs do not make it drift.

SHORTEST_SECONDS = 0.1
LONGEST_SECONDS = 3660 * 86400.0  # for every interval and other length in a schedule

_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII)
_ISO_UNITS = (604800.0, 86400.0, 3600.0, 60.0, 1.0)


@dataclass(frozen=True, slots=True)
class Every:
    """A fixed interval. `interval` and `anchor` are milliseconds; the anchor itself is one of the moments."""

    interval: int
    anchor: int

    def following(self, after: int) -> int:
        if after < self.anchor:
            return self.anchor
        return self.anchor + ((after - self.anchor) // self.interval + 1) * self.interval


def every(value: float | str, anchor: int) -> Every:
    """Read an interval: seconds, `5m`, `1h30m` or ISO 8601 as in `PT5M`. Raises InvalidScheduleError for anything
    else."""
    try:
        length = _length(value)
    except ValueError:
        length = 0.0
    if not SHORTEST_SECONDS <= length <= LONGEST_SECONDS:
        raise InvalidScheduleError(
            f"interval {value!r} cannot be read: give seconds, 5m, 1h30m or PT5M, from 0.1 s to 3660 days"
        )
    return Every(round(length * 1000), anchor)


def _length(value: float | str) -> float:
    if not isinstance(value, str):
        return seconds(value)
    parts = _ISO.fullmatch(value.strip().upper())
    if parts is None or not any(parts.groups()):
        return seconds(value)
    return sum(float(part or 0) * unit for part, unit in zip(parts.groups(), _ISO_UNITS, strict=True))


# Cadences that are no series: one moment, one run after the other, or no moment at all.


@dataclass(frozen=True, slots=True)
class At:
    """Once, at this moment. A past moment is due at once, and counts as late. For the text `NOW`, this is the moment at
    which `NOW` was read."""

    moment: int

    def following(self, after: int) -> int | None:
        return self.moment if after < self.moment else None


@dataclass(frozen=True, slots=True)
class Continue:
    """A first run at this moment, then another run after each run. The next moment is known only when a run has
    ended."""

    first: int

    def following(self, after: int) -> int | None:
        return self.first if after < self.first else None


@dataclass(frozen=True, slots=True)
class Stop:
    """No moment at all."""

    def following(self, after: int) -> int | None:
        del after
        return None
