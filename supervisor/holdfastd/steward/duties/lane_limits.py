"""Bounds of lanes, of handlers and of messages that wait: what this host's settings say is told to the store.

It counts for all hosts. It is told once, when a steward starts: of hosts that say different things the last one counts.
Later it is told again only where nothing is said any more: the store may have been emptied.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

from holdfast.core.lanes import LaneBound, LaneLimit, Lanes
from holdfast.store.protocol import Store
from holdfast_config import Settings
from holdfast_config.lanes import HEAD
from holdfastd.steward.duty import Duty

EVERY = 5.0  # seconds: so long may a store that was emptied go without them


class LaneLimits:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._host = socket.gethostname()
        self._most_pending = settings.max_pending_messages
        self._rules = tuple(_rules(settings))
        self._told = False

    def duty(self) -> Duty:
        return Duty("bounds of lanes", self.turn)

    async def turn(self) -> float:
        if not self._told or (self._rules and self._is_silent(await self._store.lanes([]))):
            await self._store.declare(self._host, self._rules)
            await self._store.limit_messages(self._most_pending)
            self._told = True
        return EVERY

    def _is_silent(self, lanes: Lanes) -> bool:
        """Whether no settings say anything, of any lane or handler."""
        said = [said for lane in lanes.lanes for said in (lane.limit, lane.keys, lane.rate, lane.end)]
        return not any(one.told for one in (*said, *lanes.handlers.values()))


def _rules(settings: Settings) -> Iterator[LaneLimit]:
    for lane in settings.lanes:
        if lane.limit:
            yield LaneLimit(LaneBound.LIMIT, lane.name, str(lane.limit))
        if lane.keys:
            yield LaneLimit(LaneBound.KEYS, lane.name, str(lane.keys))
        if lane.rate:
            yield LaneLimit(LaneBound.RATE, lane.name, lane.rate.stored)
        if lane.end != HEAD:
            yield LaneLimit(LaneBound.END, lane.name, lane.end)
    for name, rate in settings.handler_rates or ():
        yield LaneLimit(LaneBound.NAME, name, rate.stored)
