"""Where metrics are served: a port alone is one of loopback, so that nothing is open to others unless it is said."""

from __future__ import annotations

import pytest

from tests.config.conftest import Load


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("9464", "127.0.0.1:9464"),
        (":9464", "127.0.0.1:9464"),
        (" 0 ", "127.0.0.1:0"),
        ("0.0.0.0:9464", "0.0.0.0:9464"),
        ("metrics.internal:80", "metrics.internal:80"),
        ("[::1]:9464", "[::1]:9464"),
        ("unix:/run/holdfast/metrics.sock", "unix:/run/holdfast/metrics.sock"),
    ],
)
def test_an_address_is_spelled_out(read: Load, given: str, address: str) -> None:
    assert read({"HOLDFAST_METRICS": given}).metrics == address


def test_nothing_is_served_by_default(read: Load) -> None:
    assert read().metrics is None
