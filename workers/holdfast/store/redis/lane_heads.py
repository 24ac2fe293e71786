"""Watches the heads of lanes for a moment, to see from which end they are filled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import anyio

from holdfast.core.store_info import LaneHead, LaneInfo
from holdfast.store.redis.connection import Connection

LOOKS = 4


async def look(connection: Connection, lane: str, earlier: LaneHead) -> LaneHead:
    """The front of the lane now, compared with an earlier look. `lane`: its name in the store."""
    kind, length, first, second, pushed, suspects, turned, before = await connection.run(
        "glance", lane, earlier.first, earlier.second, *earlier.before
    )
    return LaneHead(kind.decode(), length, first, second, pushed, suspects, turned == 1, tuple(before))


class LaneHeadWatch:
    """Looks at one lane; each look is compared with the one before."""

    def __init__(self, connection: Connection, lane: str) -> None:
        self._connection = connection
        self._lane = lane
        self._earlier = LaneHead()
        self.facts = LaneInfo(lane, "none", 0, pushed_at_head=False, suspects=0)

    async def look(self) -> None:
        name = self._connection.keys.name(self._lane)
        head = self._earlier = await look(self._connection, name, self._earlier)
        self.facts = replace(
            self.facts,
            kind=head.kind,
            length=head.length,
            pushed_at_head=self.facts.pushed_at_head or head.pushed > 0,
            suspects=head.suspects,
            turned=head.turned,
        )


async def watched(connection: Connection, lanes: Sequence[str], seconds: float) -> tuple[LaneInfo, ...]:
    """The state of the lanes after looks over this time."""
    watches = [LaneHeadWatch(connection, lane) for lane in lanes]
    for left in reversed(range(LOOKS)):
        for watch in watches:
            await watch.look()
        if left:
            await anyio.sleep(seconds / (LOOKS - 1))
    return tuple(watch.facts for watch in watches)
