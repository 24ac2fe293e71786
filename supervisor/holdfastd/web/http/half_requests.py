"""Bounds the requests of one address that have not come whole, so that no stranger takes all connections.

An address that begins one too many loses the one that it began first. So clients that send their requests at once are
served, also behind the same address. A declared proxy and a unix socket stand for many clients and are not counted; the
time of their requests is bounded as any.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from dataclasses import dataclass, field

from holdfast_config import Settings
from holdfast_config.trusted_proxy import TrustedProxy, parse

MOST_OF_ADDRESS = 64
_NETWORK = 64  # bits of an IPv6 address that a provider gives to one customer

Cut = Callable[[], object]  # ends a connection


@dataclass(slots=True)
class HalfRequests:
    proxy: TrustedProxy | None = None
    _begun: dict[str, dict[Cut, None]] = field(default_factory=dict[str, dict[Cut, None]])  # the oldest first

    @classmethod
    def of(cls, settings: Settings) -> HalfRequests:
        return cls(parse(settings.web_trust_proxy) if settings.web_trust_proxy else None)

    def begin(self, address: str | None, cut: Cut) -> None:
        """A client at this address (None: a unix socket) begins a connection or a request; `cut` ends it."""
        if address is None or (self.proxy is not None and self.proxy.is_peer(address)):
            return
        begun = self._begun.setdefault(_shared(address), {})
        begun[cut] = None
        if len(begun) > MOST_OF_ADDRESS:
            oldest = next(iter(begun))
            del begun[oldest]
            oldest()

    def end(self, address: str | None, cut: Cut) -> None:
        """It has come whole, or its connection has ended."""
        if address is None or (begun := self._begun.get(name := _shared(address))) is None:
            return
        begun.pop(cut, None)
        if not begun:
            del self._begun[name]


def _shared(address: str) -> str:
    """The address, or the part of it that clients of one customer share."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv4Address):
        return address
    if found.ipv4_mapped:
        return str(found.ipv4_mapped)
    return str(ipaddress.ip_network((found, _NETWORK), strict=False))
