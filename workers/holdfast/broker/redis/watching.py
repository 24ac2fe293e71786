"""Watching the heads of lanes for a moment, to see from which end they are filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio

from holdfast.broker.redis.connection import Connection
from holdfast.core.facts import LaneFacts

LOOKS = 4


class Watch:
    """Looks at one lane; each look is compared with the one before."""

    def __init__(self, connection: Connection, lane: str) -> None:
        self._connection = connection
        self._lane = lane
        self._earlier: tuple[bytes, bytes] = (b"", b"")
        self.facts = LaneFacts(lane, "none", 0, pushed_at_head=False, suspects=0)

    async def look(self) -> None:
        name = self._connection.keys.name(self._lane)
        kind, length, first, second, pushed, suspects, turned = await self._connection.run(
            "glance", name, *self._earlier
        )
        self._earlier = (first, second)
        pushed_at_head = self.facts.pushed_at_head or pushed == 1
        self.facts = replace(
            self.facts,
            kind=kind.decode(),
            length=length,
            pushed_at_head=pushed_at_head,
            suspects=suspects,
            turned=turned == 1,
        )


async def watched(connection: Connection, lanes: Sequence[str], seconds: float) -> tuple[LaneFacts, ...]:
    """What is to be seen of the lanes in this time."""
    watches = [Watch(connection, lane) for lane in lanes]
    for left in reversed(range(LOOKS)):
        for watch in watches:
            await watch.look()
        if left:
            await anyio.sleep(seconds / (LOOKS - 1))
    return tuple(watch.facts for watch in watches)
