"""The part of the settings that a Redis client is made from."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast_config.redis_urls import mask
from holdfast_config.submit_settings import SubmitSettings
from holdfast_config.trust import ServiceFolder


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """The Redis server and the queue. Times are seconds. The URL holds the password and is not part of `repr`.

    `folder` holds the socket of the embedded store; it is checked before use.
    """

    url: str = field(repr=False)
    max_connections: int = 10
    queue: str = "bindu:tasks"
    connect_timeout: float = 5.0
    answer_timeout: float = 5.0
    max_pending_messages: int = 1000
    submit: SubmitSettings = field(default_factory=SubmitSettings)
    folder: ServiceFolder | None = None

    @property
    def masked_url(self) -> str:
        """The URL with its password masked."""
        return mask(self.url)
