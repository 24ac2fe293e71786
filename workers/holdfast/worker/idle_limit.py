"""Ends a quarantine worker that gets no suspect: its parent forks another when there is one again."""

from __future__ import annotations

import time
from dataclasses import dataclass

import anyio

from holdfast.worker.context import WorkerContext

LIMIT = 5.0  # seconds without a suspect
ASK_EVERY = 0.5  # seconds: no bell is rung for suspects


@dataclass(slots=True)
class IdleLimit:
    context: WorkerContext

    async def reached(self) -> None:
        """Ask for a suspect again and again; returns when none has come for too long."""
        idle_since = time.monotonic()
        while time.monotonic() - idle_since < LIMIT:
            await anyio.sleep(ASK_EVERY)
            if self.context.exchange.held:
                idle_since = time.monotonic()
            else:
                self.context.state.want_pull()
