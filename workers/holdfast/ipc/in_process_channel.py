"""A channel whose two ends are in one process, for a worker or a steward that was not forked."""

from __future__ import annotations

import math

import anyio

from holdfast.ipc.channel import FromChild, FromParent


class InProcessLink:
    """The child's end is a `Link`; the parent's end is `tell` and `hear`."""

    def __init__(self) -> None:
        self._to_child, self._told = anyio.create_memory_object_stream[FromParent](math.inf)
        self._to_parent, self._heard = anyio.create_memory_object_stream[FromChild](math.inf)

    async def receive(self) -> FromParent | None:
        try:
            return await self._told.receive()
        except anyio.EndOfStream:
            return None

    def send(self, message: FromChild) -> None:
        self._to_parent.send_nowait(message)

    async def flush(self, within: float) -> None:
        """Return at once: each message has arrived when it is sent."""

    def tell(self, message: FromParent) -> None:
        self._to_child.send_nowait(message)

    async def hear(self) -> FromChild:
        """The child's next message."""
        return await self._heard.receive()

    def close(self) -> None:
        for stream in (self._to_child, self._told, self._to_parent, self._heard):
            stream.close()
