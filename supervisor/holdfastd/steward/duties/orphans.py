"""Orphans recovers dead workers of this host whose deaths no parent reports. It finds them by their lock files.

Such a worker's parent was killed earlier, or it is this steward's own parent and is frozen. The duty kills the
processes that a dead worker has started. Only then may the worker's tasks run again.

A lock file may belong to a worker of this parent whose start the parent has not reported yet. So the duty recovers an
unknown worker only when it sees the lock file a second time. Files that existed before this parent's first worker need
no second look. A running parent reports a death within milliseconds, with its cause. So the duty recovers a worker of
its own parent only after it has seen the worker dead SEEN_DEAD times in a row, without a report.
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
from holdfastd.steward.duties.worker_recovery import Recovered, tell_dead_letters
from holdfastd.steward.duty import Duty
from holdfastd.steward.roster import LockFiles, WorkerRoster

# Kills the processes that dead workers have started. This is the work of the workers' parent, but the parent was killed
# or is frozen.


def kill_orphans(incarnations: Collection[str], leaders: Collection[int] = ()) -> set[int]:
    """Kill all processes of this host that these dead workers have started or forked; returns their pids. `leaders`:
    pids of dead workers that nobody has reaped; their process groups are killed as well.

    The search reads every process of the host. It is the slowest part of a recovery."""
    return processes.kill_all(lambda: _left_by(incarnations, leaders))


def _left_by(incarnations: Collection[str], leaders: Collection[int]) -> set[int]:
    others = (pid for pid in processes.everybody() if pid != os.getpid() and pid not in leaders)
    return processes.with_descendants(pid for pid in others if _is_left(pid, incarnations, leaders))


def _is_left(pid: int, incarnations: Collection[str], leaders: Collection[int]) -> bool:
    in_group = bool(leaders) and processes.group(pid) in leaders and processes.runs(pid)
    return in_group or processes.carries_incarnation(pid, incarnations)


LOOK_EVERY = 2.0  # seconds
END_WITHIN = 2.0  # seconds that the kernel has to end the killed processes
LOOKS = 100  # checks within END_WITHIN
CAUSE = "orphaned"
SEEN_DEAD = 3  # looks at which a worker of this parent is dead and unreported; then the parent is taken for frozen

_log = structlog.get_logger("holdfast.steward")


@dataclass(slots=True)
class Orphans:
    """The duty that recovers dead workers of this host. `foreign`: incarnations with a lock file that are certainly not
    workers of this parent."""

    store: Store
    roster: WorkerRoster
    locks: LockFiles
    recovered: Recovered
    foreign: Collection[str] = ()
    max_crashes: int = MAX_CRASHES
    _seen_dead: Counter[str] = field(default_factory=Counter[str])  # looks at which a worker of this parent was dead

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
        """The dead workers that this parent has not reported for SEEN_DEAD looks: pids by incarnation."""
        found = {name: self.locks.dead_process(name) for name in self.roster.living}
        dead = {name: pid for name, pid in found.items() if pid is not None}
        self._seen_dead = Counter({name: self._seen_dead[name] + 1 for name in dead})
        return {name: pid for name, pid in dead.items() if self._seen_dead[name] >= SEEN_DEAD}

    def _kill(self, dead: Collection[str], pids: Iterable[int]) -> set[int]:
        """Kill the processes that these dead workers have left, before other workers run the same tasks. `pids`: those
        of the workers. The kernel does not reuse the pid of an unreaped worker, so its process group can be killed."""
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
        if count:
            await tell_dead_letters(self.store, incarnation, self.max_crashes)
        self.recovered(incarnation, count, CAUSE)

    async def _is_over(self, incarnation: str, left: Collection[int]) -> bool:
        """Wait until no process holds the lock and no process of `left` runs. Returns False if this takes longer than
        END_WITHIN."""
        for _ in range(LOOKS):
            if self.locks.is_free(incarnation) and not any(map(processes.runs, left)):
                return True
            await anyio.sleep(END_WITHIN / LOOKS)
        return False
