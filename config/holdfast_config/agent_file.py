"""The JSON file of the agent framework: its `scheduler` and `storage` blocks are ours to read, the rest is its own.

A JSON file without either block holds our own keys, as a TOML file does.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

# The framework's key -> our field, block by block.
BLOCKS: Mapping[str, Mapping[str, str]] = {
    "scheduler": {
        "type": "scheduler_type",
        "workers": "workers",
        "url": "redis_url",
        "redis_url": "redis_url",
        "host": "redis_host",
        "redis_host": "redis_host",
        "port": "redis_port",
        "redis_port": "redis_port",
        "username": "redis_username",
        "password": "redis_password",
        "redis_password": "redis_password",
        "db": "redis_db",
        "redis_db": "redis_db",
        "queue_name": "queue_name",
        "max_connections": "redis_max_connections",
        "poll_timeout": "redis_poll_timeout",
    },
    "storage": {
        "type": "storage_type",
        "url": "database_url",
        "database_url": "database_url",
        "postgres_url": "database_url",
    },
}


# Said there, and true here whatever it says: a call that timed out is made again.
ALWAYS = {("scheduler", "retry_on_timeout")}


def is_agent_file(told: Mapping[str, object]) -> bool:
    return any(isinstance(told.get(block), dict) for block in BLOCKS)


def entries(told: Mapping[str, object]) -> Iterator[tuple[str, str | None, object]]:
    """Each key of the blocks as `block.key`, its field (None: no such key), and its value; nulls are left out. A block
    that is no object is a key without a field."""
    for block, fields in BLOCKS.items():
        inside = told.get(block)
        if inside is not None and not isinstance(inside, dict):
            yield block, None, inside
        for key, value in cast("dict[str, object]", inside).items() if isinstance(inside, dict) else ():
            if value is not None and (block, key) not in ALWAYS:
                yield f"{block}.{key}", fields.get(key), value
