"""The addresses that a webhook may reach: each way to spell one that is not public is known."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_network

import pytest

from holdfastd.steward.public_addresses import is_public

PUBLIC = (
    *(
        "8.8.8.8",
        "1.0.0.0",
        "9.255.255.255",
        "100.63.255.255",
        "100.128.0.0",
        "172.32.0.0",
        "192.0.1.0",
        "223.255.255.255",
    ),
    *("2606:4700:4700::1111", "2001:200::1", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2606:4700:4700::1111%eth0"),
    *("2606:4700::5efe:8.8.8.8", "2606:4700::200:5efe:8.8.8.8", "2606:4700::1:5efe:10.0.0.1"),
)
SPECIAL = (  # the registries of special addresses of IANA, without the few that are reachable from everywhere
    *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24"),
    *("192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24"),
    *("224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32"),
    *("::/128", "::1/128", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"),
    *("5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
)
HIDDEN = (
    *(
        "192.0.0.192",
        "100.100.100.200",
        "168.63.129.16",
        "::7f00:1",
        "::8.8.8.8",
        "::ffff:10.0.0.1",
        "::ffff:192.0.0.192",
    ),
    *("64:ff9b::10.0.0.1", "64:ff9b::192.0.0.192", "64:ff9b:1::8.8.8.8", "2002:808:808::1", "fe80::1%eth0", "fec0::1"),
    *("2606:4700::5efe:10.0.0.1", "2606:4700::200:5efe:169.254.169.254", "2606:4700:1:2:300:5efe:127.0.0.1"),
    *("fe80::5efe:8.8.8.8", "2001:db8::5efe:8.8.8.8", "64:ff9b::5efe:10.0.0.1", "64:ff9b:1::10.0.0.1"),
    *("::ffff:0:10.0.0.1", "::ffff:0:8.8.8.8", "::10.0.0.1", "2001:0:808:808::f5ff:fffe", "2002:a00:1::1"),
)
# A prefix before the 32 bits of an IPv4 address. Who may reach that one may reach none of these, if it is not public.
EMBEDDING = ("::", "::ffff:", "::ffff:0:", "64:ff9b::", "64:ff9b:1::", "2606:4700::5efe:", "2606:4700::200:5efe:")


@pytest.mark.parametrize("address", PUBLIC)
def test_public_address_is_reached(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", HIDDEN)
def test_address_that_is_not_public_is_known(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("network", SPECIAL)
def test_no_address_of_a_special_network_is_public_from_its_first_to_its_last(network: str) -> None:
    whole = ip_network(network)
    for address in (whole[0], whole[whole.num_addresses // 2], whole[-1]):
        assert not is_public(str(address))
        if address.version == 4:
            assert not any(is_public(f"{prefix}{address}") for prefix in EMBEDDING)
            assert not is_public(str(IPv6Address(0x2002 << 112 | int(address) << 80 | 1)))  # 6to4
            assert not is_public(str(IPv6Address(0x20010000 << 96 | int(address) ^ 0xFFFFFFFF)))  # Teredo
