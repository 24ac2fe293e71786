"""Logs the quiet and halt marks of this host when a process starts."""

from __future__ import annotations

from collections.abc import Callable
from math import inf

from holdfast.core import host_words
from holdfast.core.quiet_hosts import HaltScope
from holdfast.store.protocol import Store
from holdfastd.steward.duty import Duty


def host_marks(store: Store, scope: HaltScope, say: Callable[[str], None]) -> Duty:
    """Say once, for each mark of this host, since when it holds, who set it, and how to remove it."""

    async def run_once() -> float:
        await say_host_marks(store, scope, say)
        return inf

    return Duty("host marks", run_once)


async def say_host_marks(store: Store, scope: HaltScope, say: Callable[[str], None]) -> None:
    marks = [mark for mark in await store.quiet_hosts() if mark.counts_for(scope.host)]
    now_ms = await store.clock_ms() if marks else 0
    for mark in marks:
        say(host_words.line(mark, now_ms, scope.seen))
