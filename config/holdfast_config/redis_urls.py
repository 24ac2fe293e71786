"""Checks Redis URLs, builds them from parts and masks their secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlencode, urlsplit

# Parse URLs of Redis Sentinel and of Redis Cluster, which name several servers.
#
# No standard defines such URLs. These have the form of the `limits` library, which other libraries follow. The path of
# a Sentinel URL begins with the name of the master.

TOPOLOGY_RULE = (
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
    """The parts of a Sentinel or Cluster URL. `server`: the URL of a single server, with the password and a dummy host.
    The caller replaces this host by the host of the server in use."""

    form: Literal["sentinel", "cluster"]
    hosts: tuple[tuple[str, int], ...]
    master: str  # the name of the master in Sentinel
    sentinel_login: dict[str, str]
    server: str


def is_cluster(url: str) -> bool:
    return url.partition("://")[0].endswith("+cluster")


def parse_topology(url: str) -> RedisTopology:
    """Parse the URL. Raises ValueError, which names the allowed form and does not show the URL."""
    match = _URL.fullmatch(url)
    if match is None:
        raise ValueError(f"must be {TOPOLOGY_RULE}")
    form: Literal["sentinel", "cluster"] = "sentinel" if match["form"] == "sentinel" else "cluster"
    master, db = _sentinel_path(match["path"]) if form == "sentinel" else _cluster_path(match["path"])
    options = dict(parse_qsl(match["query"] or "", keep_blank_values=True))
    sentinel_login = {SENTINEL_LOGIN[name]: options.pop(name) for name in SENTINEL_LOGIN if name in options}
    login = f"{match['login']}@" if match["login"] else ""
    query = urlencode(options, safe="/", quote_via=quote)
    server = f"{match['scheme']}://{login}found/{db}?{query}".removesuffix("?")
    hosts = tuple(_host(each, PORTS[form]) for each in match["hosts"].split(","))
    return RedisTopology(form, hosts, master, sentinel_login, server)


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
            "the path of the URL must be the master's name in Sentinel, and may add the number of a database: "
            "redis+sentinel://host:26379/mymaster/0"
        )
    return unquote(match[1]), match[2] or "0"


def _cluster_path(path: str | None) -> tuple[str, str]:
    if path not in {None, "/", "/0"}:
        raise ValueError("a Cluster has one database, number 0: the URL needs no path")
    return "", "0"


ALLOWED = (
    "redis://[user:password@]host[:port][/db], the same with rediss:// (TLS), unix:///path/to/socket[?db=N], "
    "redis+sentinel://host,host/master[/db] or redis+cluster://host,host; "
    "special characters of a password are percent-encoded"
)

_COMMON = frozenset({"db", "username", "password"})
_TLS = frozenset(
    f"ssl_{part}"
    for part in ("ca_certs", "ca_path", "ca_data", "certfile", "keyfile", "password", "cert_reqs", "check_hostname")
)
# URL options for timeouts and pool sizes are not allowed, because the Redis client would prefer them to the settings.
_LOGIN = _COMMON - {"db"}
OPTIONS: Mapping[str, frozenset[str]] = {
    "redis": _COMMON,
    "rediss": _COMMON | _TLS,
    "unix": _COMMON,
    "redis+sentinel": _LOGIN | SENTINEL_LOGIN.keys(),
    "rediss+sentinel": _LOGIN | SENTINEL_LOGIN.keys() | _TLS,
    "redis+cluster": _LOGIN,
    "rediss+cluster": _LOGIN | _TLS,
}

_OPTION = re.compile(r"[?&]([^=&#?]*+)=")  # no backtracking, because a hostile producer may write a webhook's URL
_OPTION_END = re.compile(r"[&#]")
_SECRET_WORD = re.compile(r"passw|passphrase|token|secret|sig|credential|auth|api[_-]?key", re.IGNORECASE)
_PATH = re.compile(r"(https?://[^/?#]*)[/?#].+", re.IGNORECASE | re.DOTALL)


def mask(url: str) -> str:
    """The URL with every password replaced by `***`, even in a malformed URL (with an unquoted `/`, `#` or `@`)."""
    scheme, separator, rest = url.rpartition("://") if url.count("://") == 1 else url.partition("://")
    if not separator:
        scheme, rest = "", url
    if "@" in rest and not rest.startswith("/"):
        login, _, host = rest.rpartition("@")
        user, colon, _ = login.partition(":")
        rest = f"{user}:***@{host}" if colon else f"***@{host}"
    return scheme + separator + "".join(_without_secret_options(rest))


def _without_secret_options(url: str) -> Iterator[str]:
    at = 0
    while option := _OPTION.search(url, at):
        yield url[at : option.end()]
        at = option.end()
        if _SECRET_WORD.search(unquote(option[1])):
            end = _OPTION_END.search(url, at)
            at = end.start() if end else len(url)
            yield "***"
    yield url[at:]


def mask_webhook(url: str) -> str:
    """The URL of a webhook with its path masked, because chat services have a token in the path."""
    return _PATH.sub(r"\1/***", mask(url))


def check(url: str) -> str:
    """Check a Redis URL; returns it. Raises ValueError, which names the allowed form and does not show the URL."""
    parts = _split(url)
    if parts.scheme in SCHEMES:
        parse_topology(url)
    elif parts.scheme == "unix":
        _check_socket(parts.hostname, parts.path)
    else:
        _check_server(parts.hostname, parts.path, parts.fragment)
    _check_options(parts.scheme, parts.query)
    return url


def _split(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        fits = parts.scheme in OPTIONS and (parts.scheme in SCHEMES or parts.port != 0)
    except ValueError:  # the port is not a number, or a bracket is unbalanced
        fits = False
    if not fits or not url.isprintable() or " " in url:
        raise ValueError(f"must be {ALLOWED}")
    return urlsplit(url)


def _check_socket(host: str | None, path: str) -> None:
    if host or len(path) < 2:
        raise ValueError("a unix:// URL has three slashes and an absolute path: unix:///path/to/socket[?db=N]")


def _check_server(host: str | None, path: str, fragment: str) -> None:
    if not host or fragment:
        raise ValueError(f"must be {ALLOWED}")
    if "," in host:
        raise ValueError("names several servers: use redis+sentinel:// or redis+cluster://")
    if not re.fullmatch(r"/?\d*", path, re.ASCII):
        raise ValueError("the path of the URL must be the number of a database, as in redis://host:6379/0")


def _check_options(scheme: str, query: str) -> None:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name in sorted(options.keys() - OPTIONS[scheme]):
        raise ValueError(f"the URL option {name!r} is unknown; allowed: {', '.join(sorted(OPTIONS[scheme]))}")
    if not re.fullmatch(r"\d+", options.get("db", "0"), re.ASCII):
        raise ValueError("the URL option 'db' must be the number of a database")


def of_server(host: str, port: int, db: int) -> str:
    """A redis:// URL without a login. An IPv6 address gets brackets."""
    return f"redis://{f'[{host}]' if ':' in host else host}:{port}/{db}"


def of_socket(path: Path) -> str:
    """The unix:// URL of a socket."""
    return f"unix://{quote(str(path))}"


def with_login(url: str, username: str | None, password: str | None) -> str:
    """The URL with this login, quoted. A URL that has a password is returned unchanged."""
    parts = urlsplit(url)
    own_password = parts.password or dict(parse_qsl(parts.query)).get("password")
    if own_password or not (username or password):
        return url
    user = parts.username or quote(username or "", safe="")
    login = f"{user}:{quote(password, safe='')}" if password else user
    return parts._replace(netloc=f"{login}@{parts.netloc.rpartition('@')[2]}").geturl()


def with_options(url: str, options: Mapping[str, str | Path | None]) -> str:
    """The URL with the given options, as far as its scheme allows them. Options that the URL has already are kept."""
    parts = urlsplit(url)
    known = OPTIONS[parts.scheme] - dict(parse_qsl(parts.query, keep_blank_values=True)).keys()
    taken = {name: str(value) for name, value in options.items() if value and name in known}
    added = urlencode(taken, safe="/", quote_via=quote)
    return parts._replace(query="&".join(filter(None, (parts.query, added)))).geturl() if added else url


def server_of(url: str) -> tuple[str, int] | None:
    """The host and the port, or the path of the socket and 0. None if the URL does not name a single server, as with
    Sentinel or Cluster."""
    parts = urlsplit(url)
    if parts.scheme == "unix":
        return unquote(parts.path), 0
    return (parts.hostname, parts.port or 6379) if parts.scheme in {"redis", "rediss"} and parts.hostname else None


def option(url: str, name: str) -> str | None:
    """The value of a URL option, unquoted; None if the URL lacks this option."""
    return dict(parse_qsl(urlsplit(url).query, keep_blank_values=True)).get(name)
