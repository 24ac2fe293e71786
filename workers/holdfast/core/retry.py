"""Decides when a task that failed is tried again."""

from __future__ import annotations

from dataclasses import dataclass

LONGEST = 366 * 86400.0  # seconds: what a handler may ask for at most


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """`base` and `cap` in seconds; `max_attempts` counts the first one too."""

    max_attempts: int = 3
    base: float = 1.0
    cap: float = 300.0


def back_off(policy: RetryPolicy, attempts: int, jitter: float) -> float:
    """Seconds to wait after `attempts` failed ones (1 is the first): doubling up to the cap. `jitter`, from 0 to 1,
    takes off up to a half, so that tasks that failed together do not come back together."""
    doublings = min(max(attempts - 1, 0), 64)
    return float(min(policy.cap, policy.base * 2.0**doublings)) * (1 - jitter / 2)


def asked_wait(seconds: float) -> float:
    """The wait that a handler asked for: never negative, never beyond a year."""
    return min(seconds, LONGEST) if seconds > 0 else 0.0
