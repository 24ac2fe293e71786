"""WorkerRecovery returns the tasks of dead workers to their lanes, in the order in which the parent reported the
deaths.

A death is acknowledged once the store has recorded it. The parent repeats it until then, to the next steward if this
one dies: recording a death twice changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from holdfast.core.tasks import MAX_CRASHES
from holdfast.errors import StoreUnavailableError
from holdfast.ipc.channel import Acknowledged, Died
from holdfast.os.kill_points import Point, reached
from holdfast.store.protocol import StewardStore
from holdfastd.steward.duty import Duty
from holdfastd.steward.lock_files import LockFiles
from holdfastd.steward.roster import WorkerRoster

LOOK_EVERY = 30.0  # seconds; deaths wake it

# Called with a dead worker, the number of its tasks that were recovered, and the cause of its death.
Recovered = Callable[[str, int, str], None]

_log = structlog.get_logger("holdfast.steward")


@dataclass(frozen=True, slots=True)
class WorkerRecovery:
    store: StewardStore
    roster: WorkerRoster
    locks: LockFiles
    acknowledge: Callable[[Acknowledged], None]
    recovered: Recovered
    max_crashes: int = MAX_CRASHES
    clock: Callable[[], float] = time.monotonic

    def duty(self) -> Duty:
        return Duty("worker recovery", self.run_once, self.roster.wait_for_change)

    async def run_once(self) -> float:
        while (death := self.roster.first_dead()) is not None:
            count = await self._record(death)
            self.roster.remove(death.incarnation)
            self.acknowledge(Acknowledged(death.incarnation, count))
            self.locks.remove(death.incarnation)
            self.recovered(death.incarnation, count, death.cause)
        return LOOK_EVERY

    async def _record(self, death: Died) -> int:
        reached(Point.BEFORE_RECOVER)
        try:
            count = await self.store.recover(
                death.incarnation,
                death.cause,
                death.charged,
                ordered=death.ordered,
                max_crashes=self.max_crashes,
                begun=self.locks.begun(death.incarnation),
                lost_ms=None if death.at is None else max(0, round((self.clock() - death.at) * 1000)),
            )
        except StoreUnavailableError:
            raise
        except Exception:
            self.roster.defer(death.incarnation)  # one death that cannot be recorded must not hold up the others
            raise
        reached(Point.RECOVERED)
        tell = _log.info if count else _log.debug
        tell("worker recovered", incarnation=death.incarnation, cause=death.cause, tasks=count)
        return count
