"""The part of the settings for retries of a submit while the store is unreachable."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SubmitSettings:
    """`seconds` limits the time of a submit, `attempts`, if set, the number of its tries. Waits are seconds."""

    attempts: int | None = None
    seconds: float = 10.0
    first_wait: float = 0.05
    longest_wait: float = 2.0
