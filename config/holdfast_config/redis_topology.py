"""Parses URLs of Redis Sentinel and of Redis Cluster, which name several servers.

No standard defines these forms. They are those of the `limits` library, which others follow, with the name of the
master as the first part of a Sentinel URL's path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal
from urllib.parse import parse_qsl, quote, unquote, urlencode

ALLOWED = (
    "redis+sentinel://[user:password@]host[:port],.../master[/db], or redis+cluster://[user:password@]host[:port],... "
    "(with TLS rediss+sentinel://, rediss+cluster://); special characters of a password are percent-encoded"
)
SENTINEL_LOGIN = {"sentinel_username": "username", "sentinel_password": "password"}
PORTS = {"sentinel": 26379, "cluster": 6379}
SCHEMES = frozenset(f"{scheme}+{form}" for scheme in ("redis", "rediss") for form in PORTS)

_URL = re.compile(
    r"(?P<scheme>rediss?)\+(?P<form>sentinel|cluster)://(?:(?P<login>[^@/?#]*)@)?(?P<hosts>[^@/?#]+)"
    r"(?P<path>/[^?#]*)?(?:\?(?P<query>[^#]*))?"
)
_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^\s:\[\]%]+))(?::(\d{1,5}))?", re.ASCII)
_SENTINEL_PATH = re.compile(r"/([^/]+)(?:/(\d*))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class RedisTopology:
    """`server` is a URL for the server in use, with a host that is to be replaced; it holds the password."""

    form: Literal["sentinel", "cluster"]
    hosts: tuple[tuple[str, int], ...]
    master: str  # the name of the master in Sentinel
    sentinel_login: dict[str, str]
    server: str


def is_cluster(url: str) -> bool:
    return url.partition("://")[0].endswith("+cluster")


def parse(url: str) -> RedisTopology:
    """Parses the URL. Raises ValueError with the allowed form, without the URL."""
    match = _URL.fullmatch(url)
    if match is None:
        raise ValueError(f"must be {ALLOWED}")
    form: Literal["sentinel", "cluster"] = "sentinel" if match["form"] == "sentinel" else "cluster"
    master, db = _sentinel_path(match["path"]) if form == "sentinel" else _cluster_path(match["path"])
    options = dict(parse_qsl(match["query"] or "", keep_blank_values=True))
    sentinel_login = {SENTINEL_LOGIN[name]: options.pop(name) for name in SENTINEL_LOGIN if name in options}
    login = f"{match['login']}@" if match["login"] else ""
    query = urlencode(options, safe="/", quote_via=quote)
    server = f"{match['scheme']}://{login}found/{db}?{query}".removesuffix("?")
    return RedisTopology(form, _hosts(match["hosts"], PORTS[form]), master, sentinel_login, server)


def _hosts(text: str, usual: int) -> tuple[tuple[str, int], ...]:
    return tuple(_host(each, usual) for each in text.split(","))


def _host(text: str, usual: int) -> tuple[str, int]:
    match = _HOST.fullmatch(text)
    port = int(match[3] or usual) if match else 0
    if match is None or not 1 <= port <= 65_535:
        raise ValueError("each server of the URL must be a host or host:port, with commas between them")
    return match[1] or match[2], port


def _sentinel_path(path: str | None) -> tuple[str, str]:
    match = _SENTINEL_PATH.fullmatch(path or "")
    if match is None:
        raise ValueError(
            "the path of the URL must be the master's name as Sentinel knows it, and may add the number of a database: "
            "redis+sentinel://host:26379/mymaster/0"
        )
    return unquote(match[1]), match[2] or "0"


def _cluster_path(path: str | None) -> tuple[str, str]:
    if path not in {None, "/", "/0"}:
        raise ValueError("a Cluster has one database, number 0: the URL needs no path")
    return "", "0"
