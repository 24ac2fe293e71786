"""The part of the settings that says how long a producer believes that a store which is away will be back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SubmitSettings:
    """Both bounds count: so many tries, so many seconds in all. The waits between them are seconds, too."""

    attempts: int = 8
    seconds: float = 10.0
    first_wait: float = 0.05
    longest_wait: float = 2.0
