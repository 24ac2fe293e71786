"""Quiet and halted hosts as the command line shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from holdfast.core import quiet_hosts
from holdfast.core.quiet_hosts import Quiet


def lines(quiet: Sequence[Quiet], now_ms: int) -> Iterator[str]:
    """One line for each order."""
    return (quiet_hosts.quiet_line(each, now_ms) for each in quiet)
