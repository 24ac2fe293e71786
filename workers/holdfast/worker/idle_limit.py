"""The end of a quarantine worker that gets no suspect: its parent forks another when there is one again."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import anyio

from holdfast.worker.context import WorkerContext
from holdfast.worker.pull import Puller

LONGEST = 5.0  # seconds without a suspect
ASK_EVERY = 0.5  # seconds: no bell is rung for suspects


@dataclass(slots=True)
class IdleLimit:
    """`leave` is called once it was idle for too long."""

    post: WorkerContext
    claims: Puller
    leave: Callable[[], None]

    async def serve(self) -> None:
        """Ask for a suspect again and again; returns when none has come for too long."""
        idle_since = time.monotonic()
        while time.monotonic() - idle_since < LONGEST:
            await anyio.sleep(ASK_EVERY)
            if self.post.exchange.held:
                idle_since = time.monotonic()
            else:
                self.claims.poke()
        self.leave()
