"""Moments and lengths of time as the command line shows them."""

from __future__ import annotations

from holdfast.core.cadence.moments import local
from holdfast.why.times import Moment, moment, span

__all__ = ["Moment", "moment", "span", "utc", "zoned"]


def utc(ms: int | None) -> Moment | None:
    """A time of a schedule as ISO 8601 in UTC; milliseconds only if there are any."""
    if ms is None:
        return None
    return local(ms, "UTC").isoformat(timespec="milliseconds" if ms % 1000 else "seconds").replace("+00:00", "Z")


def zoned(ms: int, timezone: str) -> str:
    """A time on the clock of a zone, with its weekday."""
    return f"{local(ms, timezone):%a %Y-%m-%d %H:%M:%S %Z}"
