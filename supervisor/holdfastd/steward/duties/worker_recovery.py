"""WorkerRecovery returns the tasks of dead workers to their lanes, in the order in which the parent reported the
deaths.

The steward acknowledges a death to the parent once the store has recorded it. The parent repeats a death until then,
also to the next steward if this one dies. To record a death twice changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

import anyio
import structlog

from holdfast.core.worker_records import MAX_CRASHES, HostFacts
from holdfast.errors import StoreUnavailableError
from holdfast.ipc.channel import Acknowledged, Died
from holdfast.os.kill_points import Point, reached
from holdfast.store import Store
from holdfast.version import installed
from holdfast_config import Settings
from holdfastd.steward.clock_watch import ClockWatch
from holdfastd.steward.duty import Duty
from holdfastd.steward.roster import LockFiles, WorkerRoster

LOOK_EVERY = 30.0  # seconds; a death wakes the duty earlier

# Called with a dead worker, the number of its tasks that were recovered, and the cause of its death.
Recovered = Callable[[str, int, str], None]

_log = structlog.get_logger("holdfast.steward")


@dataclass(frozen=True, slots=True)
class WorkerRecovery:
    store: Store
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
        if count and not death.ordered:
            await tell_dead_letters(self.store, death.incarnation, self.max_crashes)
        return count


async def tell_dead_letters(store: Store, incarnation: str, max_crashes: int) -> None:
    """Log the tasks that became dead letters because of this worker's death."""
    with suppress(StoreUnavailableError):  # the tasks are recovered; only the line is missing
        for worker in (await store.incarnations([incarnation])).values():
            for task_id in worker.held:
                task = await store.get(task_id, payloads=False)
                if task is not None and task.dead and task.crashes > max_crashes:
                    _log.error("a task became a dead letter: it has ended too many workers", task=task_id)


# ExpiredLeases recovers the tasks of workers whose lease has expired, for example after the loss of a host.

SHORTEST_PAUSE, LONGEST_PAUSE = 0.1, 2.5  # seconds
CAUSE = "lease"


@dataclass(frozen=True, slots=True)
class ExpiredLeases:
    """The duty that recovers workers whose lease has expired. A worker counts as alive until it was silent for the
    lease and the grace (lease_grace) together."""

    store: Store
    watch: ClockWatch
    settings: Settings
    recovered: Recovered

    def duty(self) -> Duty:
        return Duty("expired leases", self.run_once)

    async def run_once(self) -> float:
        if await self.watch.leases_hold():
            await self._reap(round(self.settings.lease * 1000), round(self.settings.lease_grace * 1000))
        return max(SHORTEST_PAUSE, min(LONGEST_PAUSE, self.settings.lease_grace / 2))

    async def _reap(self, lease_ms: int, grace_ms: int) -> None:
        lapsed = await self.store.reap(lease_ms, grace_ms, self.settings.max_crashes)
        for incarnation, count in lapsed.items():
            _log.warning("lost worker recovered: its lease expired", incarnation=incarnation, tasks=count)
            if count:
                await tell_dead_letters(self.store, incarnation, self.settings.max_crashes)
            self.recovered(incarnation, count, CAUSE)


# Renews the leases of this parent's workers, also of silent ones, until the parent reports them dead.
#
# A frozen parent reports nothing. Then the duty Orphans finds a dead worker by its lock file and recovers it. The lease
# holds until Orphans has killed the processes that the worker started. So no other host runs a task beside them.
#
# Each renewal also tells the store this host's clock and version. `supervisor doctor` compares the hosts by these.

ROUNDS_PER_LEASE = 3


def lease_renewal(store: Store, roster: WorkerRoster, lease: float, wall: Callable[[], float] = time.time) -> Duty:
    """Make the duty that renews the leases of living workers. `lease`: seconds; `wall`: this host's time of day in Unix
    seconds."""

    async def run_once() -> float:
        if roster.living:
            await store.vouch(roster.living, HostFacts(round(wall() * 1000), installed()))
        return lease / ROUNDS_PER_LEASE

    async def wait(seconds: float) -> None:
        """Wait for the next renewal. A new steward knows no worker yet: it wakes as soon as the parent reports one."""
        await (anyio.sleep(seconds) if roster.living else roster.wait_for_change(seconds))

    return Duty("lease renewal", run_once, wait)


# SilentWorkers puts back the tasks that a silent worker has claimed and not begun. A worker is silent while its event
# loop does not turn, because a handler blocks the loop or the process is stopped.
#
# When the worker runs again, it does not begin these claims (`holdfast/core/begun_page.py` explains the rule). It keeps
# the tasks that it had begun. The parent reports a silent worker every second, so tasks that the worker gets meanwhile
# are put back, too.

SEEN_WITHIN = 0.01  # seconds: by then a running worker has read its page, or the steward can read the worker's note


@dataclass(frozen=True, slots=True)
class SilentWorkers:
    store: Store
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
            _log.warning(
                "a silent worker had claimed tasks and not begun them: they were put back",
                incarnation=incarnation,
                tasks=count,
            )
