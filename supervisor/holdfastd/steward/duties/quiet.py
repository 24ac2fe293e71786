"""Quiet and halted hosts: each process of such a host says so at its start; `work` and `dispatch` end at a halt.

A supervised pool stays, and waits for the end of the halt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf

from holdfast.core.quiet_hosts import HaltScope, Quiet
from holdfast.store.protocol import Store
from holdfastd.core import host_words
from holdfastd.steward.duty import Duty

EVERY = 0.5  # seconds


def saying_marks(store: Store, scope: HaltScope, say: Callable[[str], None]) -> Duty:
    """Say once, for each mark of this host, since when, who said so and how it ends."""

    async def turn() -> float:
        await say_marks(store, scope, say)
        return inf

    return Duty("hosts", turn)


async def say_marks(store: Store, scope: HaltScope, say: Callable[[str], None]) -> None:
    marks = [one for one in await store.quiet_hosts() if one.counts_for(scope.host)]
    now_ms = await store.clock_ms() if marks else 0
    for one in marks:
        say(host_words.line(one, now_ms, scope.seen))


def ending_at_halt(store: Store, scope: HaltScope, end: Callable[[str], None]) -> Duty:
    """`end` is called once, at the first halt of `scope`, and is given the line to say."""

    async def turn() -> float:
        if await store.last_halt(scope.host) <= scope.seen:
            return EVERY
        end(_words(await store.quiet_hosts(), scope.host))
        return inf

    return Duty("halts", turn)


def _words(marks: Sequence[Quiet], host: str) -> str:
    halts = [one for one in marks if one.is_halt and one.counts_for(host)]
    last = max(halts, key=lambda one: one.since_ms, default=None)
    who = "and resumed since" if last is None else f"{last.by} said so: {last.reason}"
    return f"halted, {who}; this process finishes what it runs and ends, and may be started again"
