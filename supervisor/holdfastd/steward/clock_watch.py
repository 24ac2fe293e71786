"""ClockWatch compares the store's clock with this process's: leases and ages depend on it."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from holdfast.store.protocol import StewardStore
from holdfastd.steward.health import Health
from holdfastd.steward.lease_trust import SETTLING, ClockSample, ahead, doubt, jump, tolerance

_log = structlog.get_logger("holdfast.steward")


class ClockWatch:
    """Used by the duties that recover workers by lease or delete by age; each asks it before it does so. `lease` in
    seconds; `clock` is monotonic; `wall`: this host's time of day, from which a new steward learns of a jump before
    its start."""

    def __init__(
        self,
        store: StewardStore,
        health: Health,
        lease: float,
        clock: Callable[[], float],
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._store = store
        self._health = health
        self._lease = lease
        self._clock = clock
        self._wall = wall
        self._before: ClockSample | None = None
        self._leases_from = 0.0
        self._ahead = 0.0
        self._settled_at = 0.0

    async def leases_hold(self) -> bool:
        """True if workers whose lease has expired may be declared dead now."""
        return (await self._look()).at >= self._leases_from

    async def ages_hold(self) -> bool:
        """True if tasks may be deleted by age now."""
        return (await self._look()).at >= self._settled_at

    async def _look(self) -> ClockSample:
        look, slack = await self._read(), tolerance(self._lease)
        if reason := doubt(self._before, look, slack):
            _log.debug("expired leases are ignored for the length of one lease", reason=reason, seconds=self._lease)
            self._leases_from = look.at + self._lease
        if moved := self._moved(look, slack):
            self._note_jump(look.at, moved, slack)
        self._before = look
        return look

    def _moved(self, look: ClockSample, slack: float) -> float:
        if self._before is None:
            return ahead(look, self._wall())
        return jump(self._before, look, slack)

    def _note_jump(self, at: float, moved: float, slack: float) -> None:
        self._ahead += moved
        self._settled_at = at + SETTLING if self._ahead > slack else 0.0
        if self._settled_at:
            _log.warning(
                "the store's clock was set forward: ended tasks are not deleted for up to an hour",
                seconds=round(moved, 1),
            )

    async def _read(self) -> ClockSample:
        outages, began = self._health.outages, self._clock()
        run_id = await self._store.run_id()
        clock_ms = await self._store.clock_ms()
        at = self._clock()
        return ClockSample(at, at - began, clock_ms, run_id, outages)
