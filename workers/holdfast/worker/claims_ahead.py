"""Tasks that this worker has claimed and not begun: they wait for a place, or go back to the store.

Rule 1. A task that waits has not begun. Giving it back counts neither as a run nor as a crash.

Rule 2. Tasks begin in the order of their claims. Another turn of a task that runs does not wait: its claim stops the
first turn, whose end must not count for the second one.

Rule 3. Tasks wait only if the wait is short: behind no task that takes longer than LONG, and behind no task of a
CONTINUE schedule, because the schedule's next task has to begin before tasks claimed later.

Rule 4. A worker claims nothing ahead if it drains, is quiet, runs a suspect alone, or if its lease has ended. After the
end of its lease it begins nothing.

Theory of operation. With short tasks a worker would mostly wait for answers of the store. So it claims up to 100 ms of
work ahead: `TaskDurations` computes the number of tasks. The store gives tasks ahead only from lanes without a limit or
a rate. A worker that finds its lane empty asks the other workers to give back the tasks that they have not begun
(`claims_ahead.lua`). Places that become free in one turn of the event loop are filled together in the next turn: this
costs less than one by one.

Warning. A worker may die while it holds tasks that it never began. Its page of begun tasks shows which tasks these are,
and recovery charges only tasks that had begun.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

import anyio

from holdfast.core.delivery import Delivery, Settle, Settlement
from holdfast.core.pull_protocol import LONG
from holdfast.core.schedule_records import may_be_fire
from holdfast.core.worker_records import WorkerKind
from holdfast.worker.context import WorkerContext, lease_clock
from holdfast.worker.run import TaskRunner
from holdfast.worker.running_tasks import RunningTasks
from holdfast.worker.state import WorkerState, may_claim


@dataclass(slots=True)
class ClaimsAhead:
    """The waiting tasks of one worker. `enough`: while more tasks than this wait, the next request to the store is not
    urgent. Arguments named `now` are seconds by the clock of the lease."""

    context: WorkerContext
    runner: TaskRunner = field(repr=False)
    enough: int = 0
    _state: WorkerState = field(init=False)
    _running: RunningTasks = field(init=False, repr=False)
    _will_begin: bool = False

    def __post_init__(self) -> None:
        self._state = self.context.state
        self._running = self.runner.tasks
        self.runner.on_end = self.ended

    def take(self, deliveries: Sequence[Delivery], *, wanted: bool = True) -> None:
        """Begin these deliveries as far as there are places; the others wait, or go back to the store. Another turn of
        a running task does not wait here, because the end of the first turn would count for it.

        `wanted`: False if this worker now asks for no tasks. Then an earlier request with the same number has claimed
        these deliveries, while the worker waited for a bell.
        """
        self.runner.task_log.claimed(deliveries)
        now, waiting = lease_clock(), self._state.ahead
        if waiting:
            self.begin_next(now)
        places = self._places(now) if wanted else 0
        for delivery in deliveries:
            if places > 0 or delivery.task_id in self._running.by_id:
                self.runner.start(delivery, now)
                places -= 1
            else:
                waiting[delivery.task_id] = delivery
        self.enough = len(waiting) // 2
        if waiting and not (wanted and self.may_hold(now)):
            self.give_back("not to be begun here now")

    def ended(self) -> None:
        """Record that a task has ended: its place is free, and its outcome must be reported."""
        state = self._state
        if state.ahead and not self._will_begin:
            self._will_begin = True
            asyncio.get_running_loop().call_soon(self._begin_waiting)
        state.want_pull()

    def begin_next(self, now: float) -> None:
        """Begin waiting tasks, as far as there are places."""
        waiting, places = self._state.ahead, self._places(now)
        while places > 0 and waiting:
            self.runner.start(waiting.pop(next(iter(waiting))), now)
            places -= 1
            if len(waiting) == self.enough:
                self._state.changed.announce()

    def has_enough(self) -> bool:
        """True while enough tasks wait here, so that the next request can wait a little and carry more outcomes."""
        return len(self._state.ahead) > self.enough

    def may_hold(self, now: float) -> bool:
        """True if tasks may wait here. They may not wait behind a long task. They may not wait behind a task of a
        CONTINUE schedule either, because the schedule's next task comes before newly claimed tasks."""
        if self.context.spec.kind is not WorkerKind.WORKER or self._state.is_quiet or not may_claim(self._state, now):
            return False
        return self._seconds_to_long(now) > 0 and not any(map(may_be_fire, self._running.by_id))

    def give_back(self, why: str) -> None:
        """Give back tasks that have not begun, so that other workers can begin them."""
        for delivery in list(self._state.ahead.values()):
            self._remove(delivery, Settlement(delivery.task_id, delivery.claim, Settle.RETURNED, reason=why))

    def stop(self, task_id: str, claim: str, why: str) -> None:
        """Cancel the handler of this task if it still runs under this claim. If the task only waits, it will not
        begin."""
        delivery = self._state.ahead.get(task_id)
        if delivery is None:
            self._running.stop(task_id, claim, why)
        elif self._state.exchange.holds(task_id, claim):
            returned = Settlement(task_id, claim, Settle.RETURNED, reason=why)  # the store then pauses the task
            self._remove(delivery, returned if why == "pause" else None)

    def drop(self) -> None:
        """Forget the waiting tasks, because other workers own them now."""
        for delivery in list(self._state.ahead.values()):
            self._remove(delivery, None)

    async def watch_long(self) -> None:
        """Give the waiting tasks back as soon as a running task takes too long; never returns."""
        state = self._state
        while True:
            await state.changed.until(lambda: bool(state.ahead))
            if (left := self._seconds_to_long(lease_clock())) > 0:
                await anyio.sleep(left)
            else:
                self.give_back("a task takes long")

    def _begin_waiting(self) -> None:
        self._will_begin = False
        self.begin_next(lease_clock())

    def _places(self, now: float) -> int:
        """The number of tasks that can begin; 0 after the end of the lease."""
        if self._running.is_over or not self._state.lease.holds(now):
            return 0
        return self._state.exchange.capacity - len(self._running.by_id)

    def _remove(self, delivery: Delivery, report: Settlement | None) -> None:
        del self._state.ahead[delivery.task_id]
        self._state.exchange.finish(delivery.task_id, report)
        self._state.want_pull()
        if not self.has_enough():
            self._state.changed.announce()

    def _seconds_to_long(self, now: float) -> float:
        first = self._running.first_begun_at
        return LONG if first is None else first + LONG - now
