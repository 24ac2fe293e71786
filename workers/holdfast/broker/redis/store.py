"""The whole store over Redis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from holdfast.broker.redis.connection import Connection
from holdfast.broker.redis.conversations import ConversationRole
from holdfast.broker.redis.given_up import GivenUpRole
from holdfast.broker.redis.hosts import HostsRole
from holdfast.broker.redis.lanes import LanesRole
from holdfast.broker.redis.operator import OperatorRole
from holdfast.broker.redis.outbox import OutboxRole
from holdfast.broker.redis.producer import ProducerRole
from holdfast.broker.redis.scheduling import SchedulingRole
from holdfast.broker.redis.steward import StewardRole
from holdfast.broker.redis.story import StoryRole
from holdfast.broker.redis.worker import WorkerRole

if TYPE_CHECKING:
    from collections.abc import Mapping

    from holdfast.broker.redis.client import Clients
    from holdfast_config import RedisSettings


class RedisStore(
    WorkerRole,
    StewardRole,
    ProducerRole,
    OperatorRole,
    GivenUpRole,
    LanesRole,
    HostsRole,
    StoryRole,
    SchedulingRole,
    OutboxRole,
    ConversationRole,
):
    """Implements `holdfast.broker.port.Store`. Connections are made when first used; never use one across a fork."""

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
