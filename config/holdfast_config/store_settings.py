"""The part of the settings that a PostgreSQL client is made from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from holdfast_config.redis_urls import mask
from holdfast_config.trust import ServiceFolder

ALLOWED = "postgresql://[user[:password]@]host[:port]/database, or postgresql:///database?host=/folder/of/the/socket"
_SCHEME = re.compile(r"postgres(?:ql)?(?:\+asyncpg)?://", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """The database, and the time that it keeps finished tasks. Times are seconds.

    The URL holds the password and is not part of `repr`.
    """

    url: str = field(repr=False)
    keep: float = 7_776_000.0
    max_connections: int = 5
    connect_timeout: float = 5.0
    answer_timeout: float = 10.0

    @property
    def masked_url(self) -> str:
        """The URL with its password masked."""
        return mask(self.url)


def checked(url: str) -> str:
    """Returns the URL in the form of the driver. Raises ValueError with the allowed form, without the URL."""
    scheme = _SCHEME.match(url)
    if scheme is None or not url.isprintable() or " " in url:
        raise ValueError(f"must be {ALLOWED}")
    plain = "postgresql://" + url[scheme.end() :]
    try:
        parts = urlsplit(plain)
        names_server = bool(parts.hostname or "host" in parse_qs(parts.query)) and parts.port != 0
    except ValueError:
        names_server = False
    if not names_server:
        raise ValueError(f"must be {ALLOWED}")
    return plain


# The part of the settings for retries of a submit while the store is unreachable.


@dataclass(frozen=True, slots=True)
class SubmitSettings:
    """`seconds` limits the time of a submit, `attempts`, if set, the number of its tries. Waits are seconds."""

    attempts: int | None = None
    seconds: float = 10.0
    first_wait: float = 0.05
    longest_wait: float = 2.0


# The part of the settings that a Redis client is made from.


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
