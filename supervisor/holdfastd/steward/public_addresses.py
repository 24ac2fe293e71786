"""Tells public IP addresses from others. A webhook may only reach public ones; others may lead into a private network.

The networks below are copied from the registries of special addresses (RFC 6890 and its updates). `is_global` of the
standard library's `ipaddress` is not used: several versions of Python call all of 192.0.0.0/24 public.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_NAT64 = IPv6Network("64:ff9b::/96")  # a translator sends to the IPv4 address in the last 32 bits
_LAST = 0xFFFFFFFF  # the last 32 bits of an address
_ISATAP = 0x5EFE  # the 32 bits before the last 32, in RFC 5214: a router sends to the IPv4 address in the last 32 bits
_ISATAP_BITS = 0xFCFFFFFF  # the bits of _ISATAP that must be equal; the other two may be set or not
_GLOBAL_UNICAST = IPv6Network("2000::/3")  # all public addresses; not IPv4-compatible, site-local, multicast …
_SPECIAL_V4 = tuple(
    IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by the customers of a carrier
        "127.0.0.0/8",  # loopback
        "168.63.129.16/32",  # the host below a machine of Azure
        "169.254.0.0/16",  # link-local, which has metadata services
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; 192.0.0.192 is a metadata service
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and the broadcast address
    )
)
_SPECIAL_V6 = tuple(
    IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments; Teredo among them, which holds any IPv4 address
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4, which holds any IPv4 address
        "3fff::/20",  # documentation
    )
)


def is_public(address: str) -> bool:
    """True if this address is public. `address`: text from a resolver; a zone (`%eth0`) is ignored. If an IPv6 address
    leads to an IPv4 address, that IPv4 address must be public, too."""
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv4Address):
        return _is_public_v4(parsed)
    inner = _embedded(parsed)
    if inner is not None and not _is_public_v4(inner):
        return False
    return _only_embeds(parsed) or _is_public_v6(parsed)


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address to which this IPv6 address leads; None if it leads to none. Other forms that contain an IPv4
    address (compatible, translated, 6to4, Teredo, a local NAT64) are never public, so they need no look inside."""
    is_isatap = int(address) >> 32 & _ISATAP_BITS == _ISATAP
    return IPv4Address(int(address) & _LAST) if is_isatap or _only_embeds(address) else None


def _only_embeds(address: IPv6Address) -> bool:
    """True if packets to this address go to the IPv4 address in it, so that only the IPv4 address must be public."""
    return address in _NAT64 or address.ipv4_mapped is not None


def _is_public_v4(address: IPv4Address) -> bool:
    return not any(address in network for network in _SPECIAL_V4)


def _is_public_v6(address: IPv6Address) -> bool:
    return address in _GLOBAL_UNICAST and not any(address in network for network in _SPECIAL_V6)
