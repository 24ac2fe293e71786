"""Reports to the parent, every second from the event loop: running tasks, why the store cannot be used, recycling."""

from __future__ import annotations

import time
from dataclasses import dataclass

import anyio

from holdfast.ipc.beat_times import until_next
from holdfast.ipc.channel import Beat, Link
from holdfast.worker.context import WorkerContext
from holdfast_config.logging import tell_left_out

MOST_IDS = 100  # task ids in one report


@dataclass(slots=True)
class Heartbeat:
    context: WorkerContext
    link: Link

    async def serve(self) -> None:
        while True:
            self.send()
            tell_left_out()
            await anyio.sleep(until_next(time.monotonic(), self.context.spec.slot))

    def send(self) -> None:
        """Report now."""
        state = self.context.state
        ids = [task_id for task_id in state.exchange.held if task_id not in state.ahead][:MOST_IDS]
        degraded = self.context.retries.degraded
        self.link.send(
            Beat(running=ids, settled=state.use.done, degraded=degraded, recycle_reason=state.recycle_reason)
        )
