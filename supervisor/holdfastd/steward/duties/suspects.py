"""Suspects counts the suspects that may start now, after each promotion and recovery, and at least every second.

The parent gets the number when it changes, and every second while it is not 0: it forks quarantine workers.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

import anyio

from holdfast.core.host_words import remedy
from holdfast.ipc import channel
from holdfast.store.protocol import Store
from holdfastd.steward.duty import Duty
from holdfastd.steward.roster import WorkerRoster

EVERY = 1.0  # seconds


class Suspects:
    """`lanes`: the lanes served here; `roster`: the workers, whose handlers are served here."""

    def __init__(self, store: Store, lanes: Sequence[str], roster: WorkerRoster) -> None:
        self._store = store
        self._lanes = lanes
        self._roster = roster
        self._last_sent = channel.SuspectsWaiting(0)
        self._changed = anyio.Event()

    def duty(self, tell: Callable[[channel.SuspectsWaiting], None]) -> Duty:
        """`tell` sends a message to the parent."""

        async def run_once() -> float:
            await self._count(tell)
            return EVERY

        return Duty("suspects", run_once, self._wait)

    def look(self) -> None:
        """Count now: a task may have become a suspect, or may start now."""
        self._changed.set()

    async def _count(self, tell: Callable[[channel.SuspectsWaiting], None]) -> None:
        self._changed = anyio.Event()
        suspects = await self._store.suspects(self._lanes, self._roster.living)
        message = channel.SuspectsWaiting(
            suspects.startable, suspects.alone, await self._quiet() if suspects.startable else ""
        )
        if message.startable or message != self._last_sent:
            tell(message)
        self._last_sent = message

    async def _quiet(self) -> str:
        """The mark that keeps this host from claiming, and the command that removes it; empty if there is none."""
        host = socket.gethostname()
        for mark in await self._store.quiet_hosts():
            if mark.counts_for(host):
                return f"{'halted' if mark.is_halt else 'quiet'}: {remedy(mark)}"
        return ""

    async def _wait(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._changed.wait()
