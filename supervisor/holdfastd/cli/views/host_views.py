"""Quiet and halted hosts as the command line shows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.core import host_words
from holdfast.core.quiet_hosts import Quiet
from holdfastd.documents.times import moment


def lines(quiet: Sequence[Quiet], now_ms: int) -> Iterator[str]:
    """One line for each order."""
    return (host_words.line(each, now_ms) for each in quiet)


def documents(quiet: Sequence[Quiet]) -> list[dict[str, Any]]:
    return [
        {
            "host": None if each.is_all else each.host,
            "word": "halt" if each.is_halt else "quiet",
            "since": moment(each.since_ms),
            "by": each.by,
            "reason": each.reason,
        }
        for each in quiet
    ]
