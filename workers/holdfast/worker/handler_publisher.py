"""Publishes this worker's handlers in the store, so that forms and APIs know the arguments of each."""

from __future__ import annotations

from dataclasses import dataclass

import anyio.lowlevel

from holdfast.core.published_handlers import MOST_BYTES_OF_ALL, PublishedHandler, spelled
from holdfast.handler.handler import Handler
from holdfast.handler.publication import publication
from holdfast.worker.context import WorkerContext

AT_ONCE = 65_536  # bytes of one call of the store
PUBLISHER = 0  # the slot whose worker publishes: all of a pool have the same handlers


@dataclass(slots=True)
class HandlerPublisher:
    context: WorkerContext
    handler: Handler

    async def publish(self) -> None:
        """Publish the handlers, a few at a time; of those that do not fit, the names alone."""
        spec = self.context.spec
        if spec.slot != PUBLISHER or spec.quarantine:
            return
        batch, size, total = list[PublishedHandler](), 0, 0
        for handler in publication(self.handler):
            await anyio.lowlevel.checkpoint()  # tasks go on between two schemas
            length = len(spelled(handler))
            kept = handler if total + length <= MOST_BYTES_OF_ALL else PublishedHandler(handler.name)
            batch, size, total = [*batch, kept], size + length, total + length
            if size >= AT_ONCE:
                await self._publish(batch)
                batch, size = [], 0
        await self._publish(batch)

    async def _publish(self, batch: list[PublishedHandler]) -> None:
        if batch:
            await self.context.retries.call("handlers", lambda: self.context.store.publish_handlers(batch))
