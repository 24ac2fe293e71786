"""Formats counts, lists and durations for people."""

from __future__ import annotations

from collections.abc import Sequence

# Counted nouns for texts that people read.


def counted(number: int, noun: str, plural: str = "") -> str:
    """A number with its noun: `1 task`, `2 tasks`. `plural`: the plural, if it is not the noun with an s."""
    return f"{number} {noun if number == 1 else plural or noun + 's'}"


def some(texts: Sequence[str], most: int, between: str = ", ") -> str:
    """The first `most` of these texts and the number of the others: `a, b and 3 more`."""
    return between.join(texts[:most]) + (f" and {len(texts) - most} more" if len(texts) > most else "")


def duration(seconds: float) -> str:
    """A duration in two units at most: 3.2s, 4m 5s, 2h 3m, 9d 1h."""
    if seconds < 60:
        return f"{max(seconds, 0):.1f}s"
    for size, unit, part, smaller in ((86400, "d", 3600, "h"), (3600, "h", 60, "m"), (60, "m", 1, "s")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit} {int(seconds % size // part)}{smaller}"
    raise AssertionError(seconds)


def fine_duration(seconds: float) -> str:
    """A duration with three figures below a second: 250us, 3.21ms, 1.5s, 4m 5s. The shortest duration of a histogram is
    shown as 0ms."""
    if seconds < 0.0000015:
        return "0ms"
    if seconds < 0.0009995:
        return f"{seconds * 1e6:.0f}us"
    return f"{seconds * 1000:.3g}ms" if seconds < 0.9995 else duration(seconds)


def long_duration(seconds: float) -> str:
    """A duration in whole words, in the two largest units that it has: 2 days, 1 hour 30 minutes."""
    parts, rest = list[str](), round(seconds)
    for size, unit in ((86400, "day"), (3600, "hour"), (60, "minute"), (1, "second")):
        number, rest = divmod(rest, size)
        if number:
            parts.append(counted(number, unit))
    return " ".join(parts[:2]) or f"{seconds * 1000:.0f} ms"
