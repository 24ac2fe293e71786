"""Parses the URL of a webhook, for settings, producers and the steward alike."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import quote

ALLOWED = (
    "must be http:// or https://, a host name or an address, and if need be a port and a path, without a login or a "
    "fragment, as in https://example.org/hook"
)

_URL = re.compile(
    r"(https?)://(?:\[([0-9A-Fa-f:.]+)\]|([^\s/?#@:\[\]\\]+))(?::(\d{1,5}))?([/?][^\s#]{0,2000})?", re.ASCII
)
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_NUMBER = re.compile(r"\d+|0x[0-9a-f]*", re.ASCII)
_LONGEST_NAME = 253
_KEPT = "%/?:@!$&'()*+,;=~[]"  # of a path and a query; all else is percent-encoded


@dataclass(frozen=True, slots=True)
class WebhookUrl:
    """`host` is a name in ASCII or an address without brackets; `port` None for the scheme's own; `target` is the path
    with its query, percent-encoded."""

    scheme: str
    host: str
    port: int | None
    target: str

    @property
    def authority(self) -> str:
        """The Host header."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port is None else f"{host}:{self.port}"


def parse(text: str) -> WebhookUrl:
    """Parses the URL. Raises ValueError with ALLOWED, without the URL."""
    match = _URL.fullmatch(text)
    if match is None:
        raise ValueError(ALLOWED)
    scheme, address, name, port, target = match.groups()
    try:
        host = str(ipaddress.IPv6Address(address)) if address else _named(name)
        return WebhookUrl(scheme, host, _port(port), _target(target or "/"))
    except ValueError:  # of idna and of encodings as well
        raise ValueError(ALLOWED) from None


def _named(name: str) -> str:
    """A host name, or an IPv4 address in the only form that all resolvers read alike, unlike `0177.0.0.1`."""
    host = (name if name.isascii() else _in_ascii(name)).lower()
    labels = host.removesuffix(".").split(".")
    if _NUMBER.fullmatch(labels[-1]):
        return str(ipaddress.IPv4Address(host))
    if len(host) > _LONGEST_NAME or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError
    return host


def _in_ascii(name: str) -> str:
    import idna  # rarely needed, and slow to import

    return idna.encode(name, uts46=True).decode()


def _port(digits: str | None) -> int | None:
    if digits is None:
        return None
    if not 1 <= int(digits) <= 65_535:
        raise ValueError
    return int(digits)


def _target(text: str) -> str:
    if any(letter < " " or letter == "\x7f" for letter in text):
        raise ValueError
    return quote(text if text.startswith("/") else f"/{text}", safe=_KEPT)
