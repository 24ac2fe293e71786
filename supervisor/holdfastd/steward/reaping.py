"""Reaping: workers of lost hosts, whom neither they themselves nor a steward have kept alive for a lease."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import structlog

from holdfast.broker.port import StewardStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.health import Health
from holdfastd.steward.recovery import Recovered
from holdfastd.steward.trust import Look, doubt, tolerance

SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 2.5  # seconds
CAUSE = "lease"

_log = structlog.get_logger("holdfast.steward")


@dataclass(frozen=True, slots=True)
class Terms:
    """How long a silent worker is believed, in seconds."""

    lease: float
    grace: float


class Reaping:
    def __init__(
        self, store: StewardStore, health: Health, terms: Terms, recovered: Recovered, clock: Callable[[], float]
    ) -> None:
        self._store = store
        self._health = health
        self._terms = terms
        self._recovered = recovered
        self._clock = clock
        self._before: Look | None = None
        self._believed_from = 0.0

    def duty(self) -> Duty:
        return Duty("reaping", self.turn)

    async def turn(self) -> float:
        look = await self._look()
        reason = doubt(self._before, look, tolerance(self._terms.lease))
        self._before = look
        if reason:
            _log.debug("leases are not believed for a while", reason=reason, seconds=self._terms.lease)
            self._believed_from = look.at + self._terms.lease
        if look.at >= self._believed_from:
            await self._reap()
        return max(SHORTEST_PAUSE, min(LONGEST_PAUSE, self._terms.grace / 2))

    async def _look(self) -> Look:
        outages, began = self._health.outages, self._clock()
        run_id = await self._store.run_id()
        clock_ms = await self._store.clock_ms()
        at = self._clock()
        return Look(at, at - began, clock_ms, run_id, outages)

    async def _reap(self) -> None:
        lapsed = await self._store.reap(round(self._terms.lease * 1000), round(self._terms.grace * 1000))
        for incarnation, count in lapsed.items():
            _log.warning("lost worker recovered: its lease lapsed", incarnation=incarnation, tasks=count)
            self._recovered(count, CAUSE)
