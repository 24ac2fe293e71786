"""The port of those who set schedules and of those who fire them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from holdfast.core.quiet_hosts import HaltScope
from holdfast.core.schedule_records import (
    Definition,
    Due,
    FireOrder,
    Occurrence,
    Put,
    Retired,
    SchedulePage,
    ScheduleRecord,
    SpoiltSchedule,
    Undeclared,
)


class ScheduleStore(Protocol):
    """What schedules need; producers define them, stewards fire them. Moments are milliseconds of the store's clock."""

    async def put_schedule(
        self, definition: Definition, expected: int | None, due: int | None, *, again: bool, asked: int | None = None
    ) -> Put:
        """Set a schedule. The same spec changes nothing; with `again` one that has ended begins anew."""
        ...

    async def due_schedules(self, limit: int, scope: HaltScope | None = None) -> Due:
        """`scope`: the halts that keep who asks from making fires; None: none does."""
        ...

    async def schedules_soon(self, after: int, until: int, offset: int, limit: int) -> tuple[ScheduleRecord, ...]:
        """A page of those that something is to be done about after one moment and up to another, the first first."""
        ...

    async def set_schedule_aside(self, one: SpoiltSchedule) -> str:
        """Nothing is due about it until it is set again: `aside`, or `changed` where it was set since."""
        ...

    async def fire(self, orders: Sequence[FireOrder], scope: HaltScope | None = None) -> list[str]:
        """Per order: fired, stale (decided for another moment), paused, changed (it is not as it was seen), gone,
        no-list: the key of its lane holds something else, so it is paused; or halted. A fire is made once."""
        ...

    async def pause_schedule(self, schedule_id: str, reason: str, until: int | None) -> str:
        """`paused`, or `unknown`."""
        ...

    async def resume_schedule(self, schedule_id: str, generation: int, expected: int | None, due: int | None) -> str:
        """`resumed`, `running` (it was not paused), `changed`, or `unknown`."""
        ...

    async def remove_schedule(self, schedule_id: str) -> str:
        """`removed`, or `unknown`. Its running task goes on."""
        ...

    async def schedule(self, schedule_id: str) -> ScheduleRecord | None:
        """UnreadableScheduleError where there is one that cannot be read."""
        ...

    async def schedules(self, limit: int, cursor: str = "") -> SchedulePage:
        """The next to fire first, those without a next fire last."""
        ...

    async def schedules_of(self, owner: str, limit: int, cursor: str = "") -> tuple[tuple[str, ...], str]:
        """A page of the ids of an owner's schedules, and the cursor that continues it, empty at its end."""
        ...

    async def retire_schedules(self, seen: str, limit: int) -> Retired:
        """Remove those of each application's code that no live worker declares, while a pool of it serves.

        In steps of about `limit` schedules. `seen` is the token of the step before, empty at first; after the last step
        nothing is looked at before something changes or a minute has gone by.
        """
        ...

    async def undeclared_schedules(self, limit: int) -> tuple[Undeclared, ...]:
        """Those of the code that no live worker declares, and that nothing removes."""
        ...

    async def schedule_history(self, schedule_id: str, limit: int) -> tuple[Occurrence, ...]:
        """What became of its fires, newest first; the last hundred are kept."""
        ...

    async def wait_fires(self, timeout: float) -> bool:
        """Block until an earlier fire appears, at most `timeout` seconds."""
        ...

    async def clock_ms(self) -> int: ...
