"""Parses the URL of a webhook, for settings, producers and the steward alike."""

from __future__ import annotations

import re
from dataclasses import dataclass

from pydantic_core import Url

ALLOWED = (
    "must be http:// or https://, a host name or an address, and if need be a port and a path, without a login or a "
    "fragment, as in https://example.org/hook"
)

_FORM = re.compile(r"https?://[^\s/?#@\\]+([/?][^\s#\\]{0,2000})?")  # the library also reads other forms
_LABEL = re.compile(r"[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?", re.ASCII)
_LONGEST_NAME = 253


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
    try:
        url = Url(text)
    except ValueError:
        raise ValueError(ALLOWED) from None
    host = (url.host or "").removeprefix("[").removesuffix("]")
    if not _FORM.fullmatch(text) or not text.isprintable() or not _is_plain(host, text) or url.port == 0:
        raise ValueError(ALLOWED)
    port = None if f"{url.scheme}:{url.port}" in {"http:80", "https:443"} else url.port
    return WebhookUrl(url.scheme, host, port, f"{url.path}?{url.query}" if url.query else url.path or "/")


def _is_plain(host: str, text: str) -> bool:
    """True for a host that each resolver reads alike: an IPv4 address has one form, unlike `0177.0.0.1`."""
    if ":" in host:
        return True
    if re.fullmatch(r"[\d.]+", host):
        return f"//{host}" in text
    labels = host.removesuffix(".").split(".")
    return len(host) <= _LONGEST_NAME and all(_LABEL.fullmatch(label) for label in labels)
