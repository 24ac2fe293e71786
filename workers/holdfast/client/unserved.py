"""Notices tasks in a store in memory that end with it and were never offered to a worker."""

from __future__ import annotations

from dataclasses import dataclass, field

from holdfast.core.plurals import counted
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from holdfast.errors import UnservedTasksError
from holdfast.store.protocol import Store

WAITING = (State.SUBMITTED, State.DELAYED, State.WAITING)
PAGE = 100


@dataclass(slots=True)
class UnservedTasks:
    """`counts`: True for a store in memory that nobody else can reach."""

    counts: bool = False
    _served: set[str] = field(default_factory=set[str])

    async def note_served(self, store: Store) -> None:
        """Note that a `working` block is over: all tasks that wait now were offered to it."""
        if self.counts:
            self._served |= await _waiting(store)

    async def check(self, store: Store) -> None:
        """Raises UnservedTasksError."""
        if self.counts and (lost := sorted(await _waiting(store) - self._served)):
            number = counted(len(lost), "task waits", "tasks wait")
            raise UnservedTasksError(
                f"{number} in memory and will be lost at the end of this block (the first: {lost[0]}); no `working` "
                "block has served them; enter `broker.working(handler)`, name a store (REDIS_URL), or cancel them"
            )


async def _waiting(store: Store) -> set[str]:
    found, cursor = set[str](), ""
    while True:
        page = await store.tasks(Wanted(states=WAITING), PAGE, cursor)
        found |= {record.task_id for record in page.tasks}
        if not (cursor := page.cursor):
            return found
