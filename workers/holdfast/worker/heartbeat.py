"""The child's word to its parent, every second from its event loop: I turn, I hold this, the store is (not) well."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from holdfast.ipc.channel import Beat, Link
from holdfast.worker.context import WorkerContext
from holdfast.worker.recycler import Recycler
from holdfast.worker.run import RunningTasks

INTERVAL = 1.0  # seconds
IDS = 100  # task ids named in one beat


@dataclass(slots=True)
class Heartbeat:
    post: WorkerContext
    link: Link
    hands: RunningTasks
    wearing: Recycler

    async def serve(self) -> None:
        while True:
            self.beat()
            await anyio.sleep(INTERVAL)

    def beat(self) -> None:
        running = list(self.post.exchange.held)[:IDS]
        self.link.send(
            Beat(running=running, settled=self.hands.done, degraded=self.post.insist.degraded, worn=self.wearing.worn)
        )
