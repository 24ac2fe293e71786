"""SilentWorkers puts back what a worker has claimed and not begun while the parent hears nothing of it: its event loop
does not turn, as a handler blocks it or the process does not run.

The worker begins these claims no more, whenever it goes on: `holdfast/core/begun_page.py` has the rule. What it had
begun stays with it. The parent repeats its report every second, so what the worker is given meanwhile goes back, too.
"""

from __future__ import annotations

from dataclasses import dataclass

import anyio
import structlog

from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.lock_files import LockFiles
from holdfastd.steward.roster import WorkerRoster

LOOK_EVERY = 30.0  # seconds; reports wake it
SEEN_WITHIN = 0.01  # seconds after which a worker that runs sees what was written on its page, or its note is read

_log = structlog.get_logger("holdfast.steward")


@dataclass(frozen=True, slots=True)
class SilentWorkers:
    store: StewardStore
    roster: WorkerRoster
    locks: LockFiles

    def duty(self) -> Duty:
        return Duty("silent workers", self.run_once, self.roster.wait_for_change)

    async def run_once(self) -> float:
        for incarnation in self.roster.take_silent():
            await self._take_back(incarnation)
        return LOOK_EVERY

    async def _take_back(self, incarnation: str) -> None:
        last = await self.store.last_request(incarnation)
        if not self.locks.revoke(incarnation, last):
            return
        await anyio.sleep(SEEN_WITHIN)
        begun = self.locks.begun(incarnation)
        count = 0 if begun is None else await self.store.take_back(incarnation, last, begun)
        if count:
            _log.warning("tasks of a silent worker that had not begun went back", incarnation=incarnation, tasks=count)
