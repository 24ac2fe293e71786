"""Lanes and handlers of the tasks that events are about: events do not name them, so they are looked up when a filter
needs them, and those of the last tasks are remembered."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field

from holdfast.core.tasks import Happening
from holdfast.errors import StoreError
from holdfast.store.protocol import Store
from holdfastd.web.live.event_selection import TaskPlace

REMEMBERED = 10_000  # tasks
AT_ONCE = 25  # tasks looked up for one batch of events

NOT_OF_TASKS = ("worker-", "lane-", "host-", "schedule-", "webhook-set", "batch-")


@dataclass(slots=True)
class TaskPlaces:
    store: Store
    known: dict[str, TaskPlace] = field(default_factory=dict[str, TaskPlace])

    async def learn(self, events: Iterable[Happening], most: int = AT_ONCE) -> int:
        """Look up the tasks of these events, the latest ones first; the number of tasks that were too many."""
        wanted = dict.fromkeys(
            event.subject
            for event in reversed(list(events))
            if event.subject not in self.known and not event.event.startswith(NOT_OF_TASKS)
        )
        await asyncio.gather(*(self._look_up(task_id) for task_id in list(wanted)[:most]))
        while len(self.known) > REMEMBERED:
            del self.known[next(iter(self.known))]
        return max(0, len(wanted) - most)

    async def _look_up(self, task_id: str) -> None:
        try:
            record = await self.store.get(task_id, payloads=False)
        except StoreError:
            return
        self.known[task_id] = TaskPlace(record.lane, record.name) if record else TaskPlace("", "")
