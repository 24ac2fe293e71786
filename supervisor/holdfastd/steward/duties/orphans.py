"""Orphans: workers of an earlier parent on this host, known by their lock files; the gone are recovered at once.

A file's worker may be so young that the parent's word of it is still under way, so a stranger is judged at its second
sighting. Files that were there before the first worker of this parent need no second look.
"""

from __future__ import annotations

from collections.abc import Iterable

import anyio
import structlog

from holdfast.core.tasks import MAX_CRASHES
from holdfast.store.protocol import StewardStore
from holdfastd.steward.duties.recover import Recovered
from holdfastd.steward.duty import Duty
from holdfastd.steward.lock_files import LockFiles
from holdfastd.steward.orphan_processes import kill_leftovers
from holdfastd.steward.roster import WorkerRoster

LOOK_EVERY = 2.0  # seconds
END_WITHIN = 2.0  # seconds for the kernel to end what was killed
LOOKS = 100  # in that time
CAUSE = "orphaned"

_log = structlog.get_logger("holdfast.steward")


class Orphans:
    """`strangers`: incarnations that are certainly no young workers of this parent."""

    def __init__(
        self,
        store: StewardStore,
        family: WorkerRoster,
        locks: LockFiles,
        recovered: Recovered,
        strangers: Iterable[str] = (),
        max_crashes: int = MAX_CRASHES,
    ) -> None:
        self._max_crashes = max_crashes
        self._store = store
        self._family = family
        self._locks = locks
        self._recovered = recovered
        self._strangers = frozenset(strangers)

    def duty(self) -> Duty:
        return Duty("orphans", self.turn)

    async def turn(self) -> float:
        present = self._locks.incarnations()
        for incarnation in sorted(present & self._strangers):
            if not self._family.knows(incarnation) and self._locks.is_dead(incarnation):
                await self._recover(incarnation)
        self._strangers = frozenset(each for each in present if not self._family.knows(each))
        return LOOK_EVERY

    async def _recover(self, incarnation: str) -> None:
        if left := kill_leftovers(incarnation):  # before anybody else runs its tasks
            _log.info("killed what an orphaned worker had started", incarnation=incarnation, processes=left)
        if not await self._is_over(incarnation):
            _log.warning("a process that an orphaned worker has left cannot be killed", incarnation=incarnation)
            return
        count = await self._store.recover(incarnation, CAUSE, charged=False, max_crashes=self._max_crashes)
        self._locks.remove(incarnation)
        _log.info("orphaned worker recovered", incarnation=incarnation, tasks=count)
        self._recovered(count, CAUSE)

    async def _is_over(self, incarnation: str) -> bool:
        """Whether nobody holds the lock any more; what was killed a moment ago is waited for."""
        for _ in range(LOOKS):
            if self._locks.is_free(incarnation):
                return True
            await anyio.sleep(END_WITHIN / LOOKS)
        return False
