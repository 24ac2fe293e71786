"""A queue whose clock the test moves, with a steward's rounds of firing and a worker that does as it is told."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from holdfast.client.schedule_definition import read_spec
from holdfast.client.schedule_fire import ScheduleFirer
from holdfast.client.schedules import Schedules
from holdfast.core.cadence.moments import read_moment
from holdfast.core.delivery import Delivery, Settle
from holdfast.core.task_states import State
from holdfast.core.tasks import Wanted
from tests.lua.namespace import Namespace

EVERYTHING = 10_000_000
MOST_LOOKS = 100  # of one round; the tests' longest makes a few


class RoundStore:
    """The store, for rounds of firing: one that finds due schedules again and again has no end, and is noticed."""

    def __init__(self, store: Any) -> None:
        self._store = store
        self.looks = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def due_schedules(self, *args: Any) -> Any:
        self.looks += 1
        assert self.looks <= MOST_LOOKS, "a round finds schedules that are due again and again"
        return await self._store.due_schedules(*args)


@dataclass
class Stage:
    """Times are seconds after `start`, which the clock shows at first."""

    space: Namespace
    start: str = "2027-01-01T00:00:00Z"
    requests: int = 0
    running: dict[str, Delivery] = field(default_factory=dict[str, Delivery])

    async def begin(self) -> Stage:
        self.schedules = Schedules(self.space.store, self.space.queue)
        self.rounds = RoundStore(self.space.store)
        self.firing = ScheduleFirer(self.rounds, self.space.queue, EVERYTHING)  # type: ignore[arg-type]  # hands on the rest
        self.origin = read_moment(self.start, "UTC")
        self.space.clock.now_ms = self.origin
        await self.space.advance(0)
        await self.space.register("w")
        return self

    def at(self, seconds: float) -> int:
        return self.origin + round(seconds * 1000)

    async def set(self, schedule_id: str, *, again: bool = True, after: int | None = None, **spec: object) -> str:
        """As `supervisor schedules set` does; what came of it."""
        spec = {"text": "go", **spec}
        return (await self.schedules.put(schedule_id, read_spec(spec), again=again, after=after)).word

    async def until(self, seconds: float, step: float = 1.0) -> list[str]:
        """Let the time go by, with a round of firing at each step; the ids of the tasks that were made."""
        made: list[str] = []
        while self.space.clock.now_ms < self.at(seconds):
            await self.space.advance(min(round(step * 1000), self.at(seconds) - self.space.clock.now_ms))
            made += await self.round()
        return made

    async def round(self) -> list[str]:
        """One round of a steward: the tasks that it makes."""
        self.rounds.looks = 0
        before = await self._tasks()
        await self.firing.round()
        return sorted(await self._tasks() - before)

    async def _tasks(self) -> set[str]:
        page = await self.space.store.tasks(Wanted(), 10_000)
        return {task.task_id for task in page.tasks}

    async def work(self) -> list[str]:
        """Claim all that waits; the ids."""
        taken = await self.space.take("w", 100)
        self.running |= {delivery.task_id: delivery for delivery in taken}
        return [delivery.task_id for delivery in taken]

    async def end(
        self, task_id: str, kind: Settle = Settle.COMPLETED, *, reason: str = "", backoff: float = 0.0
    ) -> None:
        """The handler has ended."""
        delivery = self.running.pop(task_id)
        await self.space.settle("w", delivery, kind, reason=reason, delay_ms=round(backoff * 1000))

    async def fates(self, schedule_id: str) -> list[str]:
        """The events of the history, oldest first, without those that set it."""
        lines = reversed(await self.schedules.history(schedule_id, 100))
        return [line.what for line in lines if line.what != "set"]

    async def events(self) -> list[dict[bytes, bytes]]:
        """The events of the store, in its order."""
        entries = await self.space.do("XRANGE", self.space.key("events"), "-", "+")
        return [
            fields if isinstance(fields, dict) else dict(zip(fields[::2], fields[1::2], strict=True))
            for _, fields in entries
        ]

    async def expected(self, schedule_id: str) -> float | None:
        moment = (await self.schedules.get(schedule_id)).expected
        return None if moment is None else (moment - self.origin) / 1000

    async def state(self, task_id: str) -> State:
        record = await self.space.store.get(task_id)
        assert record is not None
        return record.state


def on_stage(test: Callable[..., Awaitable[None]]) -> Callable[..., Awaitable[None]]:
    """A test of schedules as one of a namespace: for the table of broken scripts."""

    @functools.wraps(test)
    async def run(space: Namespace, *args: Any) -> None:
        await test(await Stage(space).begin(), *args)

    return run


def utc(moment: int) -> str:
    return datetime.fromtimestamp(moment / 1000, UTC).strftime("%m-%dT%H:%M:%S")
