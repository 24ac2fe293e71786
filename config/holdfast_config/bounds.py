"""Parses numbers and durations within bounds. The parsers raise ValueError, which names the allowed values."""

from __future__ import annotations

import re

from holdfast_config import durations

TEN_YEARS = 3650 * 86400.0  # seconds; a longer duration is surely a mistake, and could overflow in milliseconds


def whole(value: object, low: int, high: int) -> int:
    """Parse a whole number from `low` to `high`."""
    text = value.strip() if isinstance(value, str) else value if isinstance(value, int) else ""
    digits = re.fullmatch(r"-?\d{1,20}", str(text), re.ASCII)
    if digits is None or not low <= int(digits[0]) <= high:
        raise ValueError(f"must be a whole number from {low} to {high}")
    return int(digits[0])


def duration(value: object, low: float = 0.0) -> float:
    """Parse a duration of at least `low` seconds and at most ten years; returns seconds."""
    try:
        seconds = durations.seconds(value)
    except ValueError:
        seconds = -1.0
    if not low <= seconds <= TEN_YEARS:
        raise ValueError(f"must be seconds, or a duration such as 90s, 5m, 1h30m or 7d, from {low:g} s to ten years")
    return seconds
