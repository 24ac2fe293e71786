"""Moments and lengths of time in a form for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta

from holdfast.core.words import duration

Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


def moment(ms: int | None) -> Moment | None:
    """A time of the store as ISO 8601 in UTC, with milliseconds; None for none."""
    if not ms:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def span(ms: int) -> str:
    """Like `duration`, with milliseconds below a second."""
    return f"{max(ms, 0)}ms" if ms < 1000 else duration(ms / 1000)
