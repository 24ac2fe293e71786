"""The memory of a namespace in the store: every key, those aside that are capped and remember on purpose."""

from __future__ import annotations

from typing import Any

import redis

CAPPED = ("events", "unreadable")
NEVER = -1  # what TTL answers for a key that does not expire


def footprint(url: str, queue: str) -> dict[str, int]:
    """Bytes of each key, the largest first. What is remembered by design is left out: the last events, what was set
    aside, and keys that expire by themselves, as the records of dead workers do after a day."""
    prefix = f"{{{queue}}}:"
    capped = {f"{prefix}{name}" for name in CAPPED}
    client: Any
    with redis.Redis.from_url(url, decode_responses=True) as client:
        keys = [
            key
            for key in client.scan_iter(match=f"{prefix}*", count=1000)
            if key not in capped and client.ttl(key) == NEVER
        ]
        kept = {key: client.memory_usage(key, samples=0) or 0 for key in [*keys, queue]}
    return dict(sorted(kept.items(), key=lambda item: item[1], reverse=True))
