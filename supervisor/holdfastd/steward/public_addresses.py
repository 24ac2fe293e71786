"""Public addresses: the only ones that a webhook may reach. Any other address leads into a private network."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address

_NAT64 = IPv6Network("64:ff9b::/96")  # a translator sends to the IPv4 address in its last 32 bits
_GLOBAL_UNICAST = IPv6Network("2000::/3")  # all that is assigned: not IPv4-compatible, site-local, multicast …
_NO_HOSTS = (IPv6Network("2002::/16"), IPv6Network("3fff::/20"))  # 6to4, which holds any IPv4 address; documentation


def is_public(address: str) -> bool:
    """True for a public `address`, as a resolver writes it; its zone is ignored."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        inner = _embedded(parsed)
        return _is_public_v6(parsed) if inner is None else _is_public_v4(inner)
    return _is_public_v4(parsed)


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that this IPv6 address stands for."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped


def _is_public_v4(address: IPv4Address) -> bool:
    return address.is_global and not address.is_multicast


def _is_public_v6(address: IPv6Address) -> bool:
    return address in _GLOBAL_UNICAST and address.is_global and not any(address in net for net in _NO_HOSTS)
