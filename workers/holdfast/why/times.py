"""Moments and durations in a form for people."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from msgspec import Meta

from holdfast.core.words import duration

Moment = Annotated[str, Meta(extra_json_schema={"format": "date-time"})]


def moment(ms: int | None) -> Moment | None:
    """A Unix time in milliseconds as ISO 8601 in UTC; None for None or 0."""
    if not ms:
        return None
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def span(ms: int) -> str:
    """A duration in words, in whole numbers: 250ms, 12s, 4m 5s. From one to ten seconds it has one decimal: 1.3s."""
    if ms < 1000:
        return f"{max(ms, 0)}ms"
    return f"{round(ms / 1000, 1 if ms < 9950 else None):g}s" if ms < 59500 else duration(ms / 1000)
