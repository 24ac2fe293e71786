"""The whole store over Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from holdfast.store.redis.admin import RedisAdmin
from holdfast.store.redis.batches import RedisBatches
from holdfast.store.redis.bulk_changes import RedisBulkChanges
from holdfast.store.redis.connection import Connection
from holdfast.store.redis.conversations import RedisConversations
from holdfast.store.redis.examination import RedisInspect
from holdfast.store.redis.hosts import RedisHosts
from holdfast.store.redis.lanes import RedisLanes
from holdfast.store.redis.producer import RedisProducer
from holdfast.store.redis.reports import RedisReports
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


class RedisStore(
    RedisServer,
    RedisWorker,
    RedisSteward,
    RedisProducer,
    RedisTasks,
    RedisAdmin,
    RedisLanes,
    RedisHosts,
    RedisInspect,
    RedisSchedules,
    RedisBatches,
    RedisWebhooks,
    RedisConversations,
    RedisBulkChanges,
    RedisReports,
):
    """All calls of a store. The stores in memory and with PostgreSQL are this one, with some calls of their own.

    Times are milliseconds of the store's clock where a name ends in `_ms`. If the answer of a call was lost, the call
    may be repeated: its request number, claim or id shows the store that it is the same call. A store that cannot be
    reached raises StoreUnavailableError.

    Connections are made when first used; never use one across a fork. `replaced` and `clients` are those of Connection.
    `with_ledger`: PostgreSQL keeps the tasks, too (see `ledger_of`).
    """

    with_ledger: ClassVar[bool] = False

    def __init__(
        self, settings: RedisSettings, replaced: Mapping[str, str] | None = None, clients: Clients | None = None
    ) -> None:
        super().__init__(Connection(settings, replaced, clients))

    @property
    def url(self) -> str:
        """The server's URL, without the password."""
        return self.connection.url

    async def aclose(self) -> None:
        """Close all connections."""
        await self.connection.aclose()
