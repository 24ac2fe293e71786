"""One look at everything that `top` shows: the supervisor of this host, and the store for all hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from holdfast.core.lanes import Lanes
from holdfast.core.quiet_hosts import Quiet
from holdfast.core.rollup import MINUTE, Rollup
from holdfast.core.schedule_records import ScheduleRecord
from holdfast.core.task_states import State
from holdfast.core.tasks import Counts, TaskRecord, Wanted, WorkerRecord
from holdfast.store.protocol import Store
from holdfastd.cli.top.flow import Flow, Rates
from holdfastd.control.async_client import status_or_none
from holdfastd.control.socket_protocol import SupervisorStatus

MINUTES = 15  # of rollups that are looked at
SCHEDULES_AHEAD_MS = 7 * 86_400_000
MOST_TASKS = 200  # records that one look reads
STATUS_TIMEOUT = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class Look:
    """The pool and its queue as seen at `now_ms` of the store's clock. `running`: tasks by id; `minutes`: rollups by
    their start in milliseconds; `rates`: of each lane. `trouble`: why the store could not be asked; then all but
    `service` is of earlier."""

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
    """Looks again and again; minutes that are over are read once. `timeout`: seconds for which the supervisor of this
    host is waited for."""

    store: Store
    runtime_dir: Path
    timeout: float = STATUS_TIMEOUT
    _over: dict[int, Rollup] = field(default_factory=dict[int, Rollup])
    _flow: Flow = field(default_factory=Flow)

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
            workers=await store.workers(),
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
        """The supervisor of this host, if it answers."""
        return await status_or_none(self.runtime_dir, self.timeout)

    async def _minutes(self, now_ms: int) -> dict[int, Rollup]:
        this = now_ms // MINUTE * MINUTE
        first = this - (MINUTES - 1) * MINUTE
        unread = max([first, *(at + MINUTE for at in self._over)])
        found = await self.store.minutes(unread, this + MINUTE)
        over = {at: found.get(at, {}) for at in range(unread, this - MINUTE, MINUTE)}
        self._over = {at: rollup for at, rollup in (self._over | over).items() if at >= first}
        return self._over | found
