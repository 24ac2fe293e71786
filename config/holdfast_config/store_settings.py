"""The parts of the settings for the clients of PostgreSQL and Redis, and for retries of a submit."""

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
    """The part of the settings for a PostgreSQL client. `keep`: the time for which the database keeps finished tasks.
    Times are in seconds.

    The URL contains the password, so `repr` does not show it.
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
    """Check a PostgreSQL URL; returns it in the form that the driver accepts. Raises ValueError, which names the
    allowed form and does not show the URL."""
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


# The part of the settings for retries of a submit while the store cannot be reached.


@dataclass(frozen=True, slots=True)
class SubmitSettings:
    """The limits for retries of a submit. `seconds`: the time that a submit may take with all its retries. `attempts`:
    the number of tries; None: no limit. `first_wait` and `longest_wait`: the pauses between tries, in seconds."""

    attempts: int | None = None
    seconds: float = 10.0
    first_wait: float = 0.05
    longest_wait: float = 2.0


# The part of the settings for a Redis client.


@dataclass(frozen=True, slots=True)
class RedisSettings:
    """The part of the settings for a Redis client: the server and the queue. Times are in seconds. The URL contains the
    password, so `repr` does not show it.

    `folder`: the folder with the socket of the embedded store, None for another store. The client checks its owner
    before use.
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
