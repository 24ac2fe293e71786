"""A fixed interval from an anchor: `anchor + k * interval`, so that slow runs do not make it drift."""

from __future__ import annotations

import re
from dataclasses import dataclass

from holdfast.errors import InvalidScheduleError
from holdfast_config.durations import seconds

SHORTEST = 0.1  # seconds
LONGEST = 3660 * 86400.0  # of any length in a schedule

_ISO = re.compile(r"P(?:(\d+)W)?(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.ASCII)
_ISO_UNITS = (604800.0, 86400.0, 3600.0, 60.0, 1.0)


@dataclass(frozen=True, slots=True)
class Every:
    """`interval` and `anchor` in milliseconds; the anchor itself is one of the moments."""

    interval: int
    anchor: int

    def following(self, after: int) -> int:
        if after < self.anchor:
            return self.anchor
        return self.anchor + ((after - self.anchor) // self.interval + 1) * self.interval


def every(value: float | str, anchor: int) -> Every:
    """Read an interval: seconds, `5m`, `1h30m` or ISO 8601 as in `PT5M`. InvalidScheduleError for anything else."""
    try:
        length = _length(value)
    except ValueError:
        length = 0.0
    if not SHORTEST <= length <= LONGEST:
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


# Cadences that are no series: one moment, one run after the other, no more.


@dataclass(frozen=True, slots=True)
class At:
    """Once, at this moment; a past moment is due at once, and late. `NOW` is the moment of reading."""

    moment: int

    def following(self, after: int) -> int | None:
        return self.moment if after < self.moment else None


@dataclass(frozen=True, slots=True)
class Continue:
    """First at this moment, then again after each run. The next moment is known only when a run has ended."""

    first: int

    def following(self, after: int) -> int | None:
        return self.first if after < self.first else None


@dataclass(frozen=True, slots=True)
class Stop:
    """Never again."""

    def following(self, after: int) -> int | None:
        del after
        return None
