"""The whole store over Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.store.parts import ComposedStore, StoreParts
from holdfast.store.redis.admin import RedisAdmin, RedisWebSessions
from holdfast.store.redis.batches import RedisBatches
from holdfast.store.redis.bulk_changes import RedisBulkChanges
from holdfast.store.redis.connection import Connection
from holdfast.store.redis.conversations import RedisConversations
from holdfast.store.redis.examination import RedisInspect
from holdfast.store.redis.hosts import RedisHandlers, RedisHosts
from holdfast.store.redis.lanes import RedisLanes, RedisUnreadable
from holdfast.store.redis.producer import RedisProducer
from holdfast.store.redis.reports import RedisActivity, RedisEvents, RedisMetrics, RedisRollups
from holdfast.store.redis.schedules import RedisSchedules
from holdfast.store.redis.server_check import RedisServer
from holdfast.store.redis.steward import RedisSteward
from holdfast.store.redis.tasks import RedisTasks
from holdfast.store.redis.webhooks import RedisWebhooks
from holdfast.store.redis.worker import RedisWorker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.store.redis.clients import Clients
    from holdfast_config import RedisSettings


class RedisStore(ComposedStore):
    """Implements `holdfast.store.protocol.Store`. Connections are made when first used; never use one across a fork.

    `replaced` and `clients` are those of Connection.
    """

    def __init__(
        self, settings: RedisSettings, replaced: Mapping[str, str] | None = None, clients: Clients | None = None
    ) -> None:
        self.connection = connection = Connection(settings, replaced, clients)
        parts = StoreParts(
            server=RedisServer(connection),
            worker=RedisWorker(connection),
            steward=RedisSteward(connection),
            producer=RedisProducer(connection),
            tasks=RedisTasks(connection),
            unreadable=RedisUnreadable(connection),
            admin=RedisAdmin(connection),
            lanes=RedisLanes(connection),
            hosts=RedisHosts(connection),
            events=RedisEvents(connection),
            inspect=RedisInspect(connection),
            schedules=RedisSchedules(connection),
            batches=RedisBatches(connection),
            webhooks=RedisWebhooks(connection),
            conversations=RedisConversations(connection),
            activity=RedisActivity(connection),
            web_sessions=RedisWebSessions(connection),
            bulk_changes=RedisBulkChanges(connection),
            handlers=RedisHandlers(connection),
            rollups=RedisRollups(connection),
            metrics=RedisMetrics(connection),
        )
        super().__init__(parts)

    @property
    def url(self) -> str:
        """The server's URL, without the password."""
        return self.connection.url

    async def aclose(self) -> None:
        await self.connection.aclose()
