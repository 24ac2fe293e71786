"""Keeps a core busy: how many primes there are up to the number in the message, and the largest of them.

`supervisor start examples.primes:handle`, then `supervisor submit 10000000`
"""

from __future__ import annotations

from math import isqrt
from typing import Any

from holdfast import Reject, Task

LARGEST = 20_000_000


def handle(messages: list[dict[str, Any]], task: Task) -> dict[str, Any] | None:
    """Sync, because it computes: it runs in a thread and looks at `task.cancelled` between steps."""
    limit = _limit(messages)
    sieve = bytearray([0, 0]) + bytearray([1]) * (limit - 1)
    root = isqrt(limit)
    for number in range(2, root + 1):
        if task.cancelled:
            return None
        if sieve[number]:
            sieve[number * number :: number] = bytes(len(range(number * number, limit + 1, number)))
            task.progress(number, root)
    return {"limit": limit, "primes": sieve.count(1), "largest": sieve.rfind(1)}


def _limit(messages: list[dict[str, Any]]) -> int:
    try:
        limit = int(messages[-1]["parts"][0]["text"])
    except (LookupError, TypeError, ValueError):
        limit = 0
    if not 2 <= limit <= LARGEST:
        raise Reject(f"send a whole number from 2 to {LARGEST}")
    return limit
