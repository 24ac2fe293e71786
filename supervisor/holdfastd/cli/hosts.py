"""Hosts that were told to be quiet, as the command line shows them: loudly, as nothing else says why nothing starts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from holdfast.core.hosts import Quiet
from holdfastd.cli.records import duration, moment


def lines(quiet: Sequence[Quiet], now_ms: int) -> Iterator[str]:
    """One for each."""
    for one in quiet:
        ago = duration(max(0, now_ms - one.since_ms) / 1000)
        yield f"QUIET for {ago}: {who(one)}; {one.by} said so: {one.reason}; to go on: {remedy(one)}"


def who(one: Quiet) -> str:
    return "no host claims a task" if one.is_all else f"host {one.host} claims no task"


def remedy(one: Quiet) -> str:
    """The command that takes it back."""
    return "supervisor resume" if one.is_all else f"supervisor resume --host {one.host}"


def documents(quiet: Sequence[Quiet]) -> list[dict[str, Any]]:
    return [
        {"host": None if one.is_all else one.host, "since": moment(one.since_ms), "by": one.by, "reason": one.reason}
        for one in quiet
    ]
