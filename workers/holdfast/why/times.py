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
    """A duration in words, such as 5m or 250ms. Durations below a second are shown in milliseconds."""
    return f"{max(ms, 0)}ms" if ms < 1000 else duration(ms / 1000)
