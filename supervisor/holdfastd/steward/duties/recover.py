"""Recovery: what a dead worker owned goes back, in the order in which the parent told of the deaths.

A death is acknowledged when the store has recorded it, and the parent repeats it until then, to the next steward if
this one dies: recording it twice changes nothing.
"""

from __future__ import annotations

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

Recovered = Callable[[int, str], None]  # told of how many tasks went back, and of what their worker died

_log = structlog.get_logger("holdfast.steward")


@dataclass(frozen=True, slots=True)
class Recovery:
    store: StewardStore
    family: WorkerRoster
    locks: LockFiles
    acknowledge: Callable[[Acknowledged], None]
    recovered: Recovered
    max_crashes: int = MAX_CRASHES

    def duty(self) -> Duty:
        return Duty("recovery", self.turn, self.family.news)

    async def turn(self) -> float:
        while (death := self.family.first_dead()) is not None:
            count = await self._record(death)
            self.family.bury(death.incarnation)
            self.acknowledge(Acknowledged(death.incarnation, count))
            self.locks.remove(death.incarnation)
            self.recovered(count, death.cause)
        return LOOK_EVERY

    async def _record(self, death: Died) -> int:
        reached(Point.BEFORE_RECOVER)
        try:
            count = await self.store.recover(
                death.incarnation, death.cause, death.charged, ordered=death.ordered, max_crashes=self.max_crashes
            )
        except StoreUnavailableError:
            raise
        except Exception:
            self.family.defer(death.incarnation)  # one death that cannot be recorded must not hold up the others
            raise
        reached(Point.RECOVERED)
        tell = _log.info if count else _log.debug
        tell("worker recovered", incarnation=death.incarnation, cause=death.cause, tasks=count)
        return count
