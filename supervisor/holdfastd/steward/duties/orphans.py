"""Orphans recovers dead workers of earlier parents on this host, which it knows by their lock files.

A lock file may belong to a worker of this parent whose start is not reported yet, so an unknown worker is judged only
when it is seen a second time. Files that existed before this parent's first worker need no second look.
"""

from __future__ import annotations

from collections.abc import Iterable

import anyio
import structlog

from holdfast.core.tasks import MAX_CRASHES
from holdfast.store.protocol import StewardStore
from holdfastd.steward.duties.worker_recovery import Recovered
from holdfastd.steward.duty import Duty
from holdfastd.steward.lock_files import LockFiles
from holdfastd.steward.orphan_processes import kill_orphans
from holdfastd.steward.roster import WorkerRoster

LOOK_EVERY = 2.0  # seconds
END_WITHIN = 2.0  # seconds for the kernel to end what was killed
LOOKS = 100  # in that time
CAUSE = "orphaned"

_log = structlog.get_logger("holdfast.steward")


class Orphans:
    """`foreign`: incarnations that are certainly not workers of this parent."""

    def __init__(
        self,
        store: StewardStore,
        roster: WorkerRoster,
        locks: LockFiles,
        recovered: Recovered,
        foreign: Iterable[str] = (),
        max_crashes: int = MAX_CRASHES,
    ) -> None:
        self._max_crashes = max_crashes
        self._store = store
        self._roster = roster
        self._locks = locks
        self._recovered = recovered
        self._foreign = frozenset(foreign)

    def duty(self) -> Duty:
        return Duty("orphans", self.run_once)

    async def run_once(self) -> float:
        present = self._locks.incarnations()
        dead = [name for name in sorted(present & self._foreign) if self._is_dead_stranger(name)]
        if dead and (left := kill_orphans(dead)):  # before anybody else runs their tasks
            _log.info("killed the processes that orphaned workers had started", incarnations=dead, processes=left)
        for incarnation in dead:
            await self._recover(incarnation)
        self._foreign = frozenset(name for name in present if not self._roster.knows(name))
        return LOOK_EVERY

    def _is_dead_stranger(self, incarnation: str) -> bool:
        return not self._roster.knows(incarnation) and self._locks.is_dead(incarnation)

    async def _recover(self, incarnation: str) -> None:
        if not await self._is_over(incarnation):
            _log.warning("a process of an orphaned worker cannot be killed", incarnation=incarnation)
            return
        begun = self._locks.begun(incarnation)
        count = await self._store.recover(incarnation, CAUSE, charged=False, max_crashes=self._max_crashes, begun=begun)
        self._locks.remove(incarnation)
        _log.info("orphaned worker recovered", incarnation=incarnation, tasks=count)
        self._recovered(incarnation, count, CAUSE)

    async def _is_over(self, incarnation: str) -> bool:
        """True once no process holds the lock; processes that were just killed get some time to end."""
        for _ in range(LOOKS):
            if self._locks.is_free(incarnation):
                return True
            await anyio.sleep(END_WITHIN / LOOKS)
        return False
