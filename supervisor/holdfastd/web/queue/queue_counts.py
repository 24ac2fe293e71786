"""The numbers of tasks by state, read at most once in a while."""

from __future__ import annotations

import time
from dataclasses import dataclass

from holdfast.core.task_states import State
from holdfast.core.tasks import Counts
from holdfast.errors import HoldfastError
from holdfastd.web.queue.queue_access import QueueAccess
from holdfastd.web.queue.task_filter import TaskFilter

EVERY = 2.0  # seconds for which the numbers count as those of now


@dataclass(slots=True)
class QueueCounts:
    access: QueueAccess
    _counts: Counts | None = None
    _read_at: float = 0.0

    async def read(self) -> Counts:
        now = time.monotonic()
        if self._counts is None or now - self._read_at > EVERY:
            self._counts, self._read_at = await self.access.store.counts(), now
        return self._counts

    async def looked_through(self, wanted: TaskFilter) -> int | None:
        """About how many tasks a list with this filter looks at: those of its batch, or in its state; None where a
        worker runs them, which are few."""
        if wanted.owner:
            return None
        if wanted.batch:
            return await self._of_batch(wanted)
        states = (await self.read()).states
        return states.get(State(wanted.state), 0) if wanted.state else sum(states.values())

    async def _of_batch(self, wanted: TaskFilter) -> int:
        try:
            counts = (await self.access.manager.batch(wanted.batch).record()).counts
        except HoldfastError:
            return 0
        return counts.total
