"""The one place where Redis clients are made.

Every timeout is ours: the library's defaults cut blocking calls short and send commands twice. Retries inside the
client are off; the one retry loop sits outside, around idempotent calls.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import redis.asyncio as aioredis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff

if TYPE_CHECKING:
    from holdfast_config import RedisSettings

NAME = "holdfast"  # how our clients are told from others in CLIENT LIST


def _options(settings: RedisSettings) -> dict[str, Any]:
    return {
        "protocol": 2,
        "retry": Retry(NoBackoff(), 0),
        "socket_connect_timeout": settings.connect_timeout,
        "health_check_interval": 15,
        "client_name": NAME,
        "driver_info": None,  # looking up the library's version costs each child 2 MB and a round trip
    }


def _client(pool: Any) -> Any:
    """Answers as the protocol gives them: the library would guess their meaning from the command's name."""
    client: Any = aioredis.Redis.from_pool(pool)
    client.response_callbacks.clear()
    return client


def command_client(settings: RedisSettings) -> Any:
    """For calls that answer at once; a bounded pool that waits for a free connection."""
    pools: Any = aioredis.BlockingConnectionPool  # the library types no option
    bounds = {"max_connections": settings.max_connections, "timeout": settings.answer_timeout}
    return _client(pools.from_url(settings.url, **bounds, socket_timeout=settings.answer_timeout, **_options(settings)))


def blocking_client(settings: RedisSettings) -> Any:
    """For calls that block; the caller bounds each one, and a call that is cancelled closes its connection."""
    pools: Any = aioredis.ConnectionPool  # the library types no option
    return _client(pools.from_url(settings.url, socket_timeout=None, **_options(settings)))
