"""Reports to the parent, every second from the event loop: running tasks, why the store cannot be used, recycling."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from holdfast.ipc.channel import Beat, Link
from holdfast.worker.context import WorkerContext

INTERVAL = 1.0  # seconds
MOST_IDS = 100  # task ids in one report


@dataclass(slots=True)
class Heartbeat:
    context: WorkerContext
    link: Link

    async def serve(self) -> None:
        while True:
            self.send()
            await anyio.sleep(INTERVAL)

    def send(self) -> None:
        """Report now."""
        state = self.context.state
        ids = list(state.exchange.held)[:MOST_IDS]
        degraded = self.context.retries.degraded
        self.link.send(
            Beat(running=ids, settled=state.use.done, degraded=degraded, recycle_reason=state.recycle_reason)
        )
