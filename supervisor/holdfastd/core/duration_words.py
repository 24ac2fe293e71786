"""Formats durations for people, as the library does."""

from __future__ import annotations

from holdfast.core.duration_words import duration

__all__ = ["duration"]
