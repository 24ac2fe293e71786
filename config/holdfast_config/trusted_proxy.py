"""The proxy that may name the visitor of the dashboard: a header, and the peers from which it counts."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

UNIX = "unix"
RULE = "must be HEADER@ADDRESS, as in X-Forwarded-User@10.0.0.7, Remote-User@10.0.0.0/24 or Remote-User@unix"

_NETWORK = 64  # bits of an IPv6 address that a provider gives to one customer
_HEADER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,99}", re.ASCII)
# Headers that any browser or proxy sends, whose value is no name that a login has checked.
_NO_NAMES = frozenset(
    {
        *("accept", "authorization", "connection", "content-length", "content-type", "cookie", "forwarded", "host"),
        *("origin", "referer", "te", "transfer-encoding", "upgrade", "user-agent"),
        *("x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"),
    }
)


@dataclass(frozen=True, slots=True)
class TrustedProxy:
    """`header` in lower case; `network`: of its addresses, None: it comes through the unix socket."""

    header: str
    network: ipaddress.IPv4Network | ipaddress.IPv6Network | None

    def is_peer(self, address: str | None) -> bool:
        """`address` of the peer of a connection; None: a unix socket."""
        if address is None or self.network is None:
            return address is None and self.network is None
        try:
            return peer_address(address) in self.network
        except ValueError:
            return False

    def __str__(self) -> str:
        if self.network is None:
            return f"{self.header}@{UNIX}"
        whole = self.network.num_addresses == 1
        return f"{self.header}@{self.network.network_address if whole else self.network}"


def peer_address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """The address of a peer. A socket of IPv6 that takes clients of IPv4 names them within an address of IPv6. Raises
    ValueError for a text that is none."""
    found = ipaddress.ip_address(text.partition("%")[0])
    return (found.ipv4_mapped or found) if isinstance(found, ipaddress.IPv6Address) else found


def customer_of(address: str) -> str:
    """The address of a peer, or the part of it that clients of one customer share. A text that is none is itself."""
    try:
        found = peer_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, _NETWORK), strict=False)) if found.version == 6 else str(found)


def parse(text: str) -> TrustedProxy:
    """Raises ValueError with what is allowed."""
    header, _, address = text.strip().partition("@")
    if not _HEADER.fullmatch(header) or header.lower() in _NO_NAMES:
        raise ValueError(RULE)
    if address == UNIX:
        return TrustedProxy(header.lower(), None)
    try:
        network = ipaddress.ip_network(address.strip("[]"))
    except ValueError:
        raise ValueError(RULE) from None
    if network.prefixlen == 0:
        raise ValueError("would trust every host: name the address of the proxy")
    return TrustedProxy(header.lower(), network)
