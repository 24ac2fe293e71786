"""The JSON file of the agent framework. The settings in its `scheduler` and `storage` blocks are read, the rest is not.

A JSON file without either block has the same keys as `supervisor.toml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

# Key of the framework -> field of Settings, by block.
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

# The same mapping with keys as block.key, which messages show.
KEYS = {f"{block}.{key}": field for block, fields in BLOCKS.items() for key, field in fields.items()}
# A key that is accepted and has no effect: a call that timed out is always made again.
_ALWAYS = "scheduler.retry_on_timeout"


def is_agent_file(content: Mapping[str, object]) -> bool:
    return any(isinstance(content.get(block), dict) for block in BLOCKS)


def entries(content: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    """Yields each key of the blocks as `block.key`, with its value, without nulls. A block that is not an object is
    yielded as a key of its own."""
    for block in BLOCKS:
        inside = content.get(block)
        if isinstance(inside, dict):
            given = {f"{block}.{key}": value for key, value in cast("dict[str, object]", inside).items()}
            yield from ((key, value) for key, value in given.items() if value is not None and key != _ALWAYS)
        elif inside is not None:
            yield block, inside
