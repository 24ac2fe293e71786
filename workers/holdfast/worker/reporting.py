"""The child's word to its parent, every second from its event loop: I turn, I hold this, the store is (not) well."""

from __future__ import annotations

from dataclasses import dataclass

import anyio

from holdfast.channel import Beat, Link
from holdfast.worker.post import Post
from holdfast.worker.running import Hands
from holdfast.worker.wearing import Wearing

INTERVAL = 1.0  # seconds
IDS = 100  # task ids named in one beat


@dataclass(slots=True)
class Report:
    post: Post
    link: Link
    hands: Hands
    wearing: Wearing

    async def serve(self) -> None:
        while True:
            self.beat()
            await anyio.sleep(INTERVAL)

    def beat(self) -> None:
        running = list(self.post.exchange.held)[:IDS]
        self.link.send(
            Beat(running=running, settled=self.hands.done, degraded=self.post.insist.degraded, worn=self.wearing.worn)
        )
