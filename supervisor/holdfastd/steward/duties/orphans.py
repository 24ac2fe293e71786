"""Orphans recovers dead workers of this host whose deaths no parent reports. It finds them by their lock files.

Their parent was killed earlier, or it is this steward's own parent and is frozen. Processes that a dead worker has
started are killed before the worker's tasks run again.

A lock file may belong to a worker of this parent whose start is not reported yet, so an unknown worker is judged only
when it is seen a second time. Files that existed before this parent's first worker need no second look. A running
parent reports a death within milliseconds, with its cause. So the death of its own worker is judged here only if it was
seen several times and is still not reported.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import anyio
import structlog

from holdfast.core.worker_records import MAX_CRASHES
from holdfast.os import processes
from holdfast.store import Store
from holdfastd.steward.duties.worker_recovery import Recovered
from holdfastd.steward.duty import Duty
from holdfastd.steward.roster import LockFiles, WorkerRoster

# Kills the processes that dead workers have started; their parent would have done so, but was killed itself, or stands
# still.


def kill_orphans(incarnations: Collection[str], leaders: Collection[int] = ()) -> set[int]:
    """Kill all processes of this host that these dead incarnations have started or forked; returns them. `leaders`:
    dead workers that nobody has reaped; their process groups are killed as well.

    This reads every process of the host, and is the slowest part of a recovery."""
    return processes.kill_all(lambda: _left_by(incarnations, leaders))


def _left_by(incarnations: Collection[str], leaders: Collection[int]) -> set[int]:
    others = (pid for pid in processes.everybody() if pid != os.getpid() and pid not in leaders)
    return processes.with_descendants(pid for pid in others if _is_left(pid, incarnations, leaders))


def _is_left(pid: int, incarnations: Collection[str], leaders: Collection[int]) -> bool:
    in_group = bool(leaders) and processes.group(pid) in leaders and processes.runs(pid)
    return in_group or processes.carries_incarnation(pid, incarnations)


LOOK_EVERY = 2.0  # seconds
END_WITHIN = 2.0  # seconds for the kernel to end what was killed
LOOKS = 100  # in that time
CAUSE = "orphaned"
SEEN_DEAD = 3  # looks at which a worker of this parent is dead and not reported: the parent stands still

_log = structlog.get_logger("holdfast.steward")


@dataclass(slots=True)
class Orphans:
    """`foreign`: incarnations that are certainly not workers of this parent."""

    store: Store
    roster: WorkerRoster
    locks: LockFiles
    recovered: Recovered
    foreign: Collection[str] = ()
    max_crashes: int = MAX_CRASHES
    _seen_dead: Counter[str] = field(default_factory=Counter[str])  # of this parent, which has not reported them

    def duty(self) -> Duty:
        return Duty("orphans", self.run_once)

    async def run_once(self) -> float:
        present = self.locks.incarnations()
        dead = [name for name in sorted(present.intersection(self.foreign)) if self._is_dead_stranger(name)]
        unreported = self._unreported()
        dead += unreported
        left = self._kill(dead, unreported.values()) if dead else set[int]()
        for incarnation in dead:
            await self._recover(incarnation, left)
        self.foreign = frozenset(name for name in present if not self.roster.knows(name))
        return LOOK_EVERY

    def _is_dead_stranger(self, incarnation: str) -> bool:
        return not self.roster.knows(incarnation) and self.locks.is_dead(incarnation)

    def _unreported(self) -> dict[str, int]:
        """Dead workers of this parent that it has not reported for some time, with the numbers of their processes."""
        found = {name: self.locks.dead_process(name) for name in self.roster.living}
        dead = {name: pid for name, pid in found.items() if pid is not None}
        self._seen_dead = Counter({name: self._seen_dead[name] + 1 for name in dead})
        return {name: pid for name, pid in dead.items() if self._seen_dead[name] >= SEEN_DEAD}

    def _kill(self, dead: Collection[str], pids: Iterable[int]) -> set[int]:
        """Kill the processes that these workers have left, before other workers run their tasks. An unreaped worker's
        pid is not used again, so its process group can be killed safely."""
        left = kill_orphans(dead, [pid for pid in pids if processes.unreaped_child(pid, os.getppid())])
        if left:
            _log.info("killed the processes that orphaned workers had started", incarnations=dead, processes=len(left))
        return left

    async def _recover(self, incarnation: str, left: Collection[int]) -> None:
        if not await self._is_over(incarnation, left):
            _log.warning("a process of an orphaned worker cannot be killed", incarnation=incarnation)
            return
        begun = self.locks.begun(incarnation)
        count = await self.store.recover(incarnation, CAUSE, charged=False, max_crashes=self.max_crashes, begun=begun)
        self.locks.remove(incarnation)
        self.roster.worker_lost(incarnation)
        _log.info("orphaned worker recovered", incarnation=incarnation, tasks=count)
        self.recovered(incarnation, count, CAUSE)

    async def _is_over(self, incarnation: str, left: Collection[int]) -> bool:
        """True once no process holds the lock and none of these runs; what was just killed gets some time to end."""
        for _ in range(LOOKS):
            if self.locks.is_free(incarnation) and not any(map(processes.runs, left)):
                return True
            await anyio.sleep(END_WITHIN / LOOKS)
        return False
