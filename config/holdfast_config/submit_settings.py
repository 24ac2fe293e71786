"""The part of the settings that says how long a producer believes that a store which is away will be back."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SubmitSettings:
    """`seconds` bounds a submission; `attempts` bounds it as well where it is set. The waits are seconds, too."""

    attempts: int | None = None
    seconds: float = 10.0
    first_wait: float = 0.05
    longest_wait: float = 2.0
