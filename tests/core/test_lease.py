"""A lease is counted from when its renewal was sent."""

from __future__ import annotations

from holdfast.core.pull_protocol import Lease


def test_lease_holds_up_to_its_end_and_not_beyond() -> None:
    lease = Lease(seconds=15.0, renewed_at=100.0)
    assert lease.holds(114.9)
    assert not lease.holds(115.0)


def test_two_renewals_may_be_lost() -> None:
    lease = Lease(seconds=15.0, renewed_at=0.0)
    assert lease.holds(2.9 * lease.interval)
