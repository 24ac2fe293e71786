"""Parses addresses in settings: the trusted proxy of the dashboard, addresses to listen on, and URLs of webhooks."""

from __future__ import annotations

import ipaddress
import os
import re
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import Url

from holdfast_config.service_folders import SOCKET_PATH_LIMIT, expanded

PROXY_UNIX = "unix"
PROXY_RULE = "must be HEADER@ADDRESS, as in X-Forwarded-User@10.0.0.7, Remote-User@10.0.0.0/24 or Remote-User@unix"

_NETWORK = 64  # prefix length of the IPv6 network that a provider gives to one customer
_HEADER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}", re.ASCII)
# Headers that every browser or proxy sends: their values are no user names that a login has checked.
_NO_NAMES = frozenset(
    {
        *("accept", "authorization", "connection", "content-length", "content-type", "cookie", "forwarded", "host"),
        *("origin", "referer", "te", "transfer-encoding", "upgrade", "user-agent"),
        *("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"),
    }
)


@dataclass(frozen=True, slots=True)
class TrustedProxy:
    """The proxy that may name the visitors of the dashboard. `header`: the header with the visitor's name, in lower
    case. `network`: the addresses of the proxy; None if the proxy connects to the unix socket."""

    header: str
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None

    def is_peer(self, address: str | None) -> bool:
        """True if a connection comes from the proxy. `address`: the peer's address; None for a unix socket."""
        if address is None or self.network is None:
            return address is None and self.network is None
        try:
            return peer_address(address) in self.network
        except ValueError:
            return False

    def __str__(self) -> str:
        if self.network is None:
            return f"{self.header}@{PROXY_UNIX}"
        whole = self.network.num_addresses == 1
        return f"{self.header}@{self.network.network_address if whole else self.network}"


def peer_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """Parse a peer's address. An IPv4 address in IPv6 form (`::ffff:10.0.0.7`) becomes an IPv4 address. Raises
    ValueError if the text is no address."""
    found = ipaddress.ip_address(text.partition("%")[0])
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def customer_of(address: str) -> str:
    """The address of an IPv4 peer, or the /64 network of an IPv6 peer, which belongs to one customer. Any other text is
    returned unchanged."""
    try:
        found = peer_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, _NETWORK), strict=False)) if found.version == 6 else str(found)


def parse_proxy(text: str) -> TrustedProxy:
    """Parse HEADER@ADDRESS. Raises ValueError, which names the allowed form."""
    header, _, address = text.strip().partition("@")
    if not _HEADER.fullmatch(header) or header.lower() in _NO_NAMES:
        raise ValueError(PROXY_RULE)
    if address == PROXY_UNIX:
        return TrustedProxy(header.lower(), None)
    try:
        network = ipaddress.ip_network(address.strip("[]"))
    except ValueError:
        raise ValueError(PROXY_RULE) from None
    if network.prefixlen == 0:
        raise ValueError("this network contains every host: name the address of the proxy alone")
    return TrustedProxy(header.lower(), network)


# The address on which a process serves metrics or the dashboard: a port of this host, or a unix socket.

LOOPBACK = "127.0.0.1"
LISTEN_UNIX = "unix:"
LISTEN_RULE = "must be PORT, HOST:PORT or unix:PATH, as in 9464, 0.0.0.0:9464 or unix:/run/holdfast/metrics.sock"

_TCP = re.compile(r"(?:(\[[0-9a-fA-F:.]+\]|[^\s:/@?#\[\]%]+)?:)?(\d{1,5})", re.ASCII)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """An address to listen on: the `path` of a unix socket, or `host` and `port` (0: any free port)."""

    host: str = LOOPBACK
    port: int = 0
    path: Path | None = None

    @property
    def is_loopback(self) -> bool:
        """True if only processes of this host can connect to the address."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def __str__(self) -> str:
        if self.path is not None:
            return f"{LISTEN_UNIX}{self.path}"
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse_listen(text: str) -> ListenAddress:
    """Parse an address to listen on. Without a host it is loopback, because metrics show the names of handlers and
    lanes. Raises ValueError, which names the allowed form."""
    if text.startswith(LISTEN_UNIX):
        return ListenAddress(path=_socket_path(text.removeprefix(LISTEN_UNIX)))
    match = _TCP.fullmatch(text)
    if match is None or int(match[2]) > 65_535:
        raise ValueError(LISTEN_RULE)
    return ListenAddress((match[1] or LOOPBACK).strip("[]"), int(match[2]))


def _socket_path(text: str) -> Path:
    if not text.strip() or not text.isprintable():
        raise ValueError(LISTEN_RULE)
    path = expanded(text).absolute()
    length = len(os.fsencode(path))
    if length > SOCKET_PATH_LIMIT:
        raise ValueError(
            f"the path of the socket has {length} bytes, the system allows {SOCKET_PATH_LIMIT}; choose a shorter one"
        )
    return path


# Parse the URL of a webhook. Settings, producers and the steward use the same parser.

WEBHOOK_RULE = (
    "must be http:// or https://, a host name or an address, and if need be a port and a path, without a login or a "
    "fragment, as in https://example.org/hook"
)

_FORM = re.compile(r"https?://[^\s/?#@\\]+([/?][^\s#\\]{0,2000})?")  # the library also accepts other forms
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_LONGEST_NAME = 253


@dataclass(frozen=True, slots=True)
class WebhookUrl:
    """The parts of a webhook's URL. `host`: a name in ASCII, or an address without brackets. `port`: None for the
    default port of the scheme. `target`: the path with its query, percent-encoded."""

    scheme: str
    host: str
    port: int | None
    target: str

    @property
    def authority(self) -> str:
        """The value of the Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


def parse_webhook(text: str) -> WebhookUrl:
    """Parse the URL of a webhook. Raises ValueError with WEBHOOK_RULE. The error does not show the URL, which may
    contain a secret."""
    try:
        url = Url(text)
    except ValueError:
        raise ValueError(WEBHOOK_RULE) from None
    host = (url.host or "").removeprefix("[").removesuffix("]")
    if not _FORM.fullmatch(text) or not text.isprintable() or not _is_plain(host, text) or url.port == 0:
        raise ValueError(WEBHOOK_RULE)
    port = None if f"{url.scheme}:{url.port}" in {"http:80", "https:443"} else url.port
    return WebhookUrl(url.scheme, host, port, f"{url.path}?{url.query}" if url.query else url.path or "/")


def _is_plain(host: str, text: str) -> bool:
    """True if every resolver reads the host in the same way. `0177.0.0.1` is refused, because some read it as octal."""
    if ":" in host:
        return True
    if re.fullmatch(r"[\d.]+", host):
        return f"//{host}" in text
    labels = host.removesuffix(".").split(".")
    return len(host) <= _LONGEST_NAME and all(_LABEL.fullmatch(label) for label in labels)
