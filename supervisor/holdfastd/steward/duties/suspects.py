"""Suspects that may start now are counted after each promotion and recovery, and at least every second.

The parent is told how many there are, on change and each second while there are any: it forks quarantine workers.
"""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

import anyio

from holdfast.ipc import channel
from holdfast.store.protocol import Store
from holdfastd.core.host_words import remedy
from holdfastd.steward.duty import Duty
from holdfastd.steward.roster import WorkerRoster

EVERY = 1.0  # seconds


class Suspects:
    """`lanes`: those that are served here; `family`: the workers whose handlers are."""

    def __init__(self, store: Store, lanes: Sequence[str], family: WorkerRoster) -> None:
        self._store = store
        self._lanes = lanes
        self._family = family
        self._told = channel.SuspectsWaiting(0)
        self._changed = anyio.Event()

    def duty(self, tell: Callable[[channel.SuspectsWaiting], None]) -> Duty:
        """`tell` hands a message to the parent."""

        async def turn() -> float:
            await self._look(tell)
            return EVERY

        return Duty("suspects", turn, self._rest)

    def look(self) -> None:
        """A task may have become a suspect, or may start now: do not wait for the next second."""
        self._changed.set()

    async def _look(self, tell: Callable[[channel.SuspectsWaiting], None]) -> None:
        self._changed = anyio.Event()
        found = await self._store.suspects(self._lanes, self._family.living)
        message = channel.SuspectsWaiting(found.startable, found.alone, await self._quiet() if found.startable else "")
        if message.startable or message != self._told:
            tell(message)
        self._told = message

    async def _quiet(self) -> str:
        """That this host is to claim nothing, and what ends it; empty where it claims."""
        host = socket.gethostname()
        for one in await self._store.quiet_hosts():
            if one.counts_for(host):
                return f"{'halted' if one.is_halt else 'quiet'}: {remedy(one)}"
        return ""

    async def _rest(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._changed.wait()
