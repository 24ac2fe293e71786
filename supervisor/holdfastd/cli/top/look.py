"""One look at everything that `top` shows: the supervisor of this host, and the store for all hosts."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple

from holdfast.core.counts import Counts
from holdfast.core.lanes import Lanes
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.rollup import MINUTE, Rollup
from holdfast.core.schedule_records import ScheduleRecord
from holdfast.core.statistics import by_lane, runs_of
from holdfast.core.task_states import State
from holdfast.core.tasks import TaskRecord, Wanted
from holdfast.core.worker_records import WorkerRecord
from holdfastd.cli.common.store_session import Store
from holdfastd.control.client import status_or_none
from holdfastd.control.socket_protocol import SupervisorStatus

# The rates at which tasks come into each lane and leave it, computed from two looks some seconds apart.

WINDOW_MS = 10_000


class Rates(NamedTuple):
    """How many tasks a second come into a lane and leave it."""

    coming: float
    leaving: float


class Seen(NamedTuple):
    """The numbers that one look at the queue has found. `present`: the number of waiting and running tasks of each
    lane. `left`: the number of ended runs, by minute and lane."""

    at_ms: int
    present: Mapping[str, int]
    left: Mapping[int, Mapping[str, int]]


@dataclass(slots=True)
class LaneFlow:
    """Computes the rates of the lanes from the numbers of the last looks."""

    _seen: deque[Seen] = field(default_factory=deque[Seen])

    def rates(self, at_ms: int, present: Mapping[str, int], minutes: Mapping[int, Rollup]) -> dict[str, Rates]:
        """The rates of each lane in about the last ten seconds. Empty at the first call."""
        this = at_ms // MINUTE * MINUTE
        left = {at: _runs(rollup) for at, rollup in minutes.items() if at >= this - MINUTE}
        self._seen.append(Seen(at_ms, present, left))
        while len(self._seen) > 2 and self._seen[1].at_ms <= at_ms - WINDOW_MS:
            self._seen.popleft()
        first, last = self._seen[0], self._seen[-1]
        seconds = (last.at_ms - first.at_ms) / 1000
        return {lane: _between(first, last, lane, seconds) for lane in present} if seconds > 0 else {}


def _between(first: Seen, last: Seen, lane: str, seconds: float) -> Rates:
    begin = min(first.left, default=0)
    left = sum(count.get(lane, 0) for at, count in last.left.items() if at >= begin)
    left -= sum(count.get(lane, 0) for at, count in first.left.items() if at in last.left)
    came = left + last.present[lane] - first.present.get(lane, 0)
    return Rates(max(0.0, came / seconds), max(0.0, left / seconds))


def _runs(rollup: Rollup) -> dict[str, int]:
    return {lane: runs_of(figures) for lane, figures in by_lane(rollup).items()}


MINUTES = 15  # minutes whose rollups a look reads
SCHEDULES_AHEAD_MS = 7 * 86_400_000
MOST_TASKS = 200  # records that one look reads
STATUS_TIMEOUT = 1.0  # seconds to wait for the supervisor


@dataclass(frozen=True, slots=True)
class Look:
    """The pool and its queue, seen at `now_ms` of the store's clock. `running`: tasks by id. `minutes`: rollups by
    their start in milliseconds. `rates`: of each lane. `trouble`: why the store did not answer; then all values except
    `service` are from an earlier look."""

    now_ms: int = 0
    service: SupervisorStatus | None = None
    counts: Counts | None = None
    lanes: Lanes | None = None
    workers: Sequence[WorkerRecord] = ()
    quiet: Sequence[Quiet] = ()
    minutes: Mapping[int, Rollup] = field(default_factory=dict[int, Rollup])
    running: Mapping[str, TaskRecord] = field(default_factory=dict[str, TaskRecord])
    dead: Sequence[TaskRecord] = ()
    schedules: Sequence[ScheduleRecord] = ()
    rates: Mapping[str, Rates] = field(default_factory=dict[str, Rates])
    trouble: str = ""


@dataclass(slots=True)
class Observer:
    """Reads the state of the pool and its queue for `top`, again and again. Each reading is a Look. Rollups of past
    minutes are read only once. `host`: show only the workers of this host; None: of all. `timeout`: seconds to wait for
    the supervisor of this host."""

    store: Store
    runtime_dir: Path
    host: str | None = None
    timeout: float = STATUS_TIMEOUT
    _over: dict[int, Rollup] = field(default_factory=dict[int, Rollup])
    _flow: LaneFlow = field(default_factory=LaneFlow)

    async def look(self) -> Look:
        store, now_ms = self.store, await self.store.clock_ms()
        lanes, minutes = await store.lanes([]), await self._minutes(now_ms)
        present = {lane.name: lane.waiting + lane.running for lane in lanes.lanes}
        running = await store.tasks(Wanted(states=(State.WORKING,)), MOST_TASKS)
        return Look(
            now_ms=now_ms,
            service=await self.service(),
            counts=await store.counts(),
            lanes=lanes,
            workers=[each for each in await store.workers() if self.host in (None, each.host)],
            quiet=await store.quiet_hosts(),
            minutes=minutes,
            rates=self._flow.rates(now_ms, present, minutes),
            running={task.task_id: task for task in running.tasks},
            dead=(await store.dead_letters(MOST_TASKS)).tasks,
            schedules=await store.schedules_soon(now_ms, now_ms + SCHEDULES_AHEAD_MS, 0, MOST_TASKS),
        )

    async def without_store(self, earlier: Look, trouble: str) -> Look:
        return replace(earlier, service=await self.service(), trouble=trouble)

    async def service(self) -> SupervisorStatus | None:
        """The supervisor of this host; None if it does not answer."""
        return await status_or_none(self.runtime_dir, self.timeout)

    async def _minutes(self, now_ms: int) -> dict[int, Rollup]:
        this = now_ms // MINUTE * MINUTE
        first = this - (MINUTES - 1) * MINUTE
        unread = max([first, *(at + MINUTE for at in self._over)])
        found = await self.store.minutes(unread, this + MINUTE)
        over = {at: found.get(at, {}) for at in range(unread, this - MINUTE, MINUTE)}
        self._over = {at: rollup for at, rollup in (self._over | over).items() if at >= first}
        return self._over | found
