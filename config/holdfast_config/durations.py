"""Parses durations: a number of seconds, or `90s`, `5m`, `1h30m`, `7d`, `250ms`."""

from __future__ import annotations

import math
import re

_UNITS = {"d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
_WRITTEN = re.compile("".join(rf"(?:(\d+(?:\.\d+)?){unit})?" for unit in _UNITS), re.ASCII)


def seconds(value: object) -> float:
    """The seconds of a duration. Raises ValueError if the value is not a duration or not finite."""
    match value:
        case bool():
            raise ValueError("true and false are not durations")
        case int() | float():
            return _finite(float(value))
        case str():
            return _finite(_written(value.strip().lower()))
        case _:
            raise ValueError("no duration")


def shortest(seconds: float) -> str:
    """A duration as text in the largest unit that leaves no remainder: 7d, 90s, 50ms. `seconds` parses this text."""
    for unit, size in _UNITS.items():
        if seconds and seconds % size == 0:
            return f"{seconds / size:.0f}{unit}"
    return f"{seconds:.9f}".rstrip("0").rstrip(".") + "s"  # no exponent, which `seconds` does not parse


def _written(text: str) -> float:
    parts = _WRITTEN.fullmatch(text)
    if parts is None or not text:
        return float(text if text.isascii() and "_" not in text else "")
    return math.fsum(float(part or 0) * unit for part, unit in zip(parts.groups(), _UNITS.values(), strict=True))


def _finite(number: float) -> float:
    if not math.isfinite(number):
        raise ValueError("not finite")
    return number
