"""The addresses that a webhook may reach: each way to spell one that is not public is known."""

from __future__ import annotations

import pytest

from holdfastd.steward.public_addresses import is_public

PUBLIC = ("8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::8.8.8.8", "2606:4700:4700::1111%eth0")
HIDDEN = (
    *("0.0.0.0", "10.0.0.1", "100.64.0.1", "127.0.0.1", "169.254.169.254", "224.0.0.1", "239.1.1.1", "255.255.255.255"),
    *("::", "::1", "::7f00:1", "::8.8.8.8", "::ffff:10.0.0.1", "64:ff9b::10.0.0.1", "64:ff9b:1::8.8.8.8", "100::1"),
    *(
        "2001::1",
        "2001:db8::1",
        "2002:808:808::1",
        "3fff::1",
        "5f00::1",
        "fc00::1",
        "fe80::1%eth0",
        "fec0::1",
        "ff0e::1",
    ),
)


@pytest.mark.parametrize("address", PUBLIC)
def test_public_address_is_reached(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", HIDDEN)
def test_address_that_is_not_public_is_known(address: str) -> None:
    assert not is_public(address)
