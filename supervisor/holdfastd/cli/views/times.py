"""Moments and lengths of time as the command line shows them."""

from __future__ import annotations

from datetime import UTC, datetime

from holdfast.core.cadence.moments import local
from holdfastd.core.duration_words import duration


def moment(ms: int | None) -> str | None:
    """A time of the store as ISO 8601 in UTC, with milliseconds; None for none."""
    if not ms:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def span(ms: int) -> str:
    """As `duration`, with milliseconds below a second."""
    return f"{max(ms, 0)}ms" if ms < 1000 else duration(ms / 1000)


def utc(ms: int | None) -> str | None:
    """A time of a schedule as ISO 8601 in UTC; milliseconds only if there are any."""
    if ms is None:
        return None
    return local(ms, "UTC").isoformat(timespec="milliseconds" if ms % 1000 else "seconds").replace("+00:00", "Z")


def zoned(ms: int, timezone: str) -> str:
    """A time on the clock of a zone, with its weekday."""
    return f"{local(ms, timezone):%a %Y-%m-%d %H:%M:%S %Z}"
