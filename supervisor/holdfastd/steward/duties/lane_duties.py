"""LaneLimits writes the limits of lanes, handlers and waiting messages from this host's settings to the store.

The limits in the store apply to all hosts. A steward writes its host's limits once, when it starts. If the settings of
hosts differ, the steward that started last wins. A steward writes again only if the store holds no limits any more, for
example after it was emptied.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator, Sequence

import structlog

from holdfast.core.lanes import LaneBound, LaneLimit, Lanes
from holdfast.store import Store
from holdfast.worker.lease_renewal import TEND_EVERY, tend
from holdfast_config import Settings
from holdfast_config.lanes import HEAD
from holdfastd.steward.duty import Duty

LIMITS_EVERY = 5.0  # seconds: the longest time without limits after the store was emptied


class LaneLimits:
    def __init__(self, store: Store, settings: Settings) -> None:
        self._store = store
        self._host = socket.gethostname()
        self._most_pending = settings.max_pending_messages
        self._rules = tuple(_rules(settings))
        self._is_declared = False

    def duty(self) -> Duty:
        return Duty("lane limits", self.run_once)

    async def run_once(self) -> float:
        if not self._is_declared or (self._rules and self._is_silent(await self._store.lanes([]))):
            await self._store.declare(self._host, self._rules)
            await self._store.limit_messages(self._most_pending)
            self._is_declared = True
        return LIMITS_EVERY

    def _is_silent(self, lanes: Lanes) -> bool:
        """True if the store holds no limits from settings, for any lane or handler."""
        limits = [limit for lane in lanes.lanes for limit in (lane.limit, lane.keys, lane.rate, lane.end)]
        return not any(limit.told for limit in (*limits, *lanes.handlers.values()))


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


# LaneAudit puts back the entries of tasks that another program removed from a lane. It checks AUDIT_WINDOW in a round.

AUDIT_WINDOW = 500  # entries checked in one round
AUDIT_EVERY = 5.0  # seconds
NEXT_PAGE = 0.1  # seconds; also used after entries were put back

_log = structlog.get_logger("holdfast.steward")


class LaneAudit:
    def __init__(self, store: Store, lane: str) -> None:
        self._store = store
        self._lane = lane
        self._cursor = ""

    def duty(self) -> Duty:
        return Duty(f"audit of {self._lane}", self.run_once)

    async def run_once(self) -> float:
        put_back, self._cursor = await self._store.audit(self._lane, AUDIT_WINDOW, self._cursor)
        if put_back:
            _log.warning("entries were missing from a lane and were put back", lane=self._lane, tasks=put_back)
        return NEXT_PAGE if self._cursor or put_back else AUDIT_EVERY


# Lane depths notes how many tasks wait in each lane, for the charts of the dashboard.

DEPTHS_EVERY = 60.0  # seconds


def lane_depths(store: Store) -> Duty:
    async def run_once() -> float:
        await store.note_depths()
        return DEPTHS_EVERY

    return Duty("lane depths", run_once)


# Lane tending carries out the orders (cancel, pause, resume) that producers pushed to lanes, and removes stale entries.


def lane_tending(store: Store, lanes: Sequence[str]) -> Duty:
    """Make the duty that tends lanes: near both ends of a lane it carries out pushed orders (cancel, pause, resume),
    and removes entries that no task needs any more. Workers take entries only when they have free slots, and an order
    must not wait for this."""

    async def run_once() -> float:
        await tend(store, lanes)
        return TEND_EVERY

    return Duty("lane tending", run_once)
