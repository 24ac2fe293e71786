"""The whole store over Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.store.redis.admin import RedisAdmin
from holdfast.store.redis.connection import Connection
from holdfast.store.redis.conversations import RedisConversations
from holdfast.store.redis.dead_letters import RedisDeadLetters
from holdfast.store.redis.history import RedisHistory
from holdfast.store.redis.hosts import RedisHosts
from holdfast.store.redis.lanes import RedisLanes
from holdfast.store.redis.producer import RedisProducer
from holdfast.store.redis.schedules import RedisSchedules
from holdfast.store.redis.steward import RedisSteward
from holdfast.store.redis.webhooks import RedisWebhooks
from holdfast.store.redis.worker import RedisWorker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.store.redis.clients import Clients
    from holdfast_config import RedisSettings


class RedisStore(
    RedisWorker,
    RedisSteward,
    RedisProducer,
    RedisAdmin,
    RedisDeadLetters,
    RedisLanes,
    RedisHosts,
    RedisHistory,
    RedisSchedules,
    RedisWebhooks,
    RedisConversations,
):
    """Implements `holdfast.store.protocol.Store`. Connections are made when first used; never use one across a fork."""

    def __init__(
        self, settings: RedisSettings, replaced: Mapping[str, str] | None = None, clients: Clients | None = None
    ) -> None:
        super().__init__(Connection(settings, replaced, clients))

    @property
    def url(self) -> str:
        """Where it is, without the password."""
        return self._connection.url

    async def aclose(self) -> None:
        await self._connection.aclose()
