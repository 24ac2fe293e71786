"""Writes times as documents show them, and makes a document from a record."""

from __future__ import annotations

from typing import TypeVar, cast

from holdfast.core.cadence.moments import local
from holdfast.why.times import Moment, moment, span

__all__ = ["Moment", "document_of", "moment", "span", "utc", "zoned"]

D = TypeVar("D")


def document_of(kind: type[D], record: object, /, **own: object) -> D:
    """Make a document of this kind. `own`: values of fields. The other fields get the values of the record's attributes
    with the same names."""
    fields = {name: own[name] if name in own else getattr(record, name) for name in kind.__annotations__}
    return cast("D", fields)


def utc(ms: int | None) -> Moment | None:
    """A time (Unix milliseconds) as ISO 8601 text in UTC. Milliseconds are shown only if they are not 0."""
    if ms is None:
        return None
    return local(ms, "UTC").isoformat(timespec="milliseconds" if ms % 1000 else "seconds").replace("+00:00", "Z")


def zoned(ms: int, timezone: str) -> str:
    """A time (Unix milliseconds) as text by the clock of this time zone, with the weekday."""
    return f"{local(ms, timezone):%a %Y-%m-%d %H:%M:%S %Z}"
