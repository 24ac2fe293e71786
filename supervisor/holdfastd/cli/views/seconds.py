"""Durations of any size in few characters."""

from __future__ import annotations

from holdfast.core.duration_words import duration


def seconds(value: float) -> str:
    """Three figures below a second: 250us, 3.21ms, 1.5s, 4m 5s."""
    if value < 0.001:
        return f"{value * 1e6:.0f}us"
    return f"{value * 1000:.3g}ms" if value < 1 else duration(value)
