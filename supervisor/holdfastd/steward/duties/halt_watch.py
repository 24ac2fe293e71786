"""Ends `work` and `dispatch` at the first halt that is newer than their start.

A supervised pool does not run this duty: it stays and waits for the end of the halt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from holdfast.core.quiet_hosts import HaltScope, Quiet
from holdfast.store.protocol import Store
from holdfastd.steward.duty import Duty

EVERY = 0.5  # seconds


def halt_watch(store: Store, scope: HaltScope, end: Callable[[str], None]) -> Duty:
    """Call `end` once, at the first halt of `scope`, with the line to print."""

    async def run_once() -> float:
        if await store.last_halt(scope.host) <= scope.seen:
            return EVERY
        end(_words(await store.quiet_hosts(), scope.host))
        return inf

    return Duty("halt watch", run_once)


def _words(marks: Sequence[Quiet], host: str) -> str:
    halts = [mark for mark in marks if mark.is_halt and mark.counts_for(host)]
    last = max(halts, key=lambda mark: mark.since_ms, default=None)
    who = "and resumed since" if last is None else f"by order of {last.by} ({last.reason})"
    return f"halted, {who}; this process finishes what it runs and ends, and may be started again"
