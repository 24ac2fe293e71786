"""Moments and lengths of time as documents show them, and documents made of the fields of a record."""

from __future__ import annotations

from typing import TypeVar, cast

from holdfast.core.cadence.moments import local
from holdfast.why.times import Moment, moment, span

__all__ = ["Moment", "document_of", "moment", "span", "utc", "zoned"]

D = TypeVar("D")


def document_of(kind: type[D], record: object, /, **own: object) -> D:
    """A document of this kind: the fields that are given here, the others from the record's attributes of the same
    names."""
    fields = {name: own[name] if name in own else getattr(record, name) for name in kind.__annotations__}
    return cast("D", fields)


def utc(ms: int | None) -> Moment | None:
    """A time of a schedule as ISO 8601 in UTC; milliseconds only if there are any."""
    if ms is None:
        return None
    return local(ms, "UTC").isoformat(timespec="milliseconds" if ms % 1000 else "seconds").replace("+00:00", "Z")


def zoned(ms: int, timezone: str) -> str:
    """A time on the clock of a zone, with its weekday."""
    return f"{local(ms, timezone):%a %Y-%m-%d %H:%M:%S %Z}"
