"""Duties for hosts that an operator has told to claim no more tasks (quiet), or to halt. One duty ends `supervisor
work` and `supervisor dispatch` when the host is halted after they started. One logs the orders that already apply to
this host when a process starts.

`supervisor start` does not run the first duty: its workers stay, and wait for the end of the halt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from holdfast.core import quiet_hosts
from holdfast.core.quiet_hosts import HaltScope, Quiet
from holdfast.store import Store
from holdfastd.steward.duty import Duty

HALT_EVERY = 0.5  # seconds


def halt_watch(store: Store, scope: HaltScope, end: Callable[[str], None]) -> Duty:
    """Make the duty that calls `end` once, with the line to print, when this host is halted for the first time after
    the process started."""

    async def run_once() -> float:
        if await store.last_halt(scope.host) <= scope.seen:
            return HALT_EVERY
        end(_words(await store.quiet_hosts(), scope.host))
        return inf

    return Duty("halt watch", run_once)


def _words(marks: Sequence[Quiet], host: str) -> str:
    halts = [mark for mark in marks if mark.is_halt and mark.counts_for(host)]
    last = max(halts, key=lambda mark: mark.since_ms, default=None)
    who = "and resumed since" if last is None else last.ordered
    return f"halted, {who}; this process finishes what it runs and ends, and may be started again"


# Logs the quiet and halt marks of this host when a process starts.


def host_marks(store: Store, scope: HaltScope, say: Callable[[str], None]) -> Duty:
    """Make the duty that calls `say` with one line for each order (quiet or halt) that applies to this host. The line
    says since when the order applies, who gave it, and which command ends it."""

    async def run_once() -> float:
        await say_host_marks(store, scope, say)
        return inf

    return Duty("host marks", run_once)


async def say_host_marks(store: Store, scope: HaltScope, say: Callable[[str], None]) -> None:
    marks = [mark for mark in await store.quiet_hosts() if mark.counts_for(scope.host)]
    now_ms = await store.clock_ms() if marks else 0
    for mark in marks:
        say(quiet_hosts.quiet_line(mark, now_ms, scope.seen))
