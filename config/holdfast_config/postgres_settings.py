"""The part of the settings that a PostgreSQL client is made from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from urllib.parse import parse_qs, urlsplit

from holdfast_config.redis_urls import mask

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
