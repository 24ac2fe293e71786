"""The store's own history: every event of the stream as it comes, and the invariants from a snapshot now and then."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import anyio
import redis.asyncio
from redis.exceptions import RedisError

from holdfast.errors import StoreError
from holdfast.store.redis import RedisStore
from tests.lua.history import History, apart
from tests.lua.invariants import breaches
from tests.lua.view import View

AGAIN = 0.05  # seconds
PAGE = 2000

Event = dict[str, str]


@dataclass(slots=True)
class Watcher:
    """`ahead`: tasks that a worker may claim ahead at most. `broken`: what was ever broken.
    `events`: all of them, with `at`, the store's time in milliseconds."""

    url: str
    queue: str
    ahead: int
    store: RedisStore
    every: float
    most_pending: int
    events: list[Event] = field(default_factory=list[Event])
    history: History = field(default_factory=History)
    broken: list[str] = field(default_factory=list[str])
    snapshots: int = 0
    stolen: bool = False
    _after: str = "0-0"

    async def follow(self) -> None:
        """Read the stream for ever."""
        async with redis.asyncio.Redis.from_url(self.url, decode_responses=True, socket_timeout=5.0) as client:
            while True:
                try:
                    if not await self._page(client):
                        await anyio.sleep(AGAIN)
                except (RedisError, OSError):
                    await anyio.sleep(AGAIN)

    async def _page(self, client: Any) -> int:
        page: list[tuple[str, Event]] = await client.xrange(f"{{{self.queue}}}:events", f"({self._after}", "+", PAGE)
        for name, event in page:
            self._after = name
            self.events += [{"at": name.partition("-")[0], **each} for each in apart([event])]
        self.history.tell(event for _, event in page)
        return len(page)

    async def look(self) -> None:
        """Take snapshots for ever."""
        while True:
            await anyio.sleep(self.every)
            await self.look_once()

    async def look_once(self) -> bool:
        """True if there was an answer."""
        try:
            snapshot = await self.store.snapshot()
        except StoreError:
            return False
        self.snapshots += 1
        broken = breaches(snapshot, self.queue, ahead=self.ahead, stolen=self.stolen)
        broken += [
            f"{len(rows)} messages wait for one task" for rows in _pending(snapshot) if len(rows) > self.most_pending
        ]
        self.broken += [f"snapshot {self.snapshots}: {breach}" for breach in broken]
        return True

    async def compare_states(self) -> None:
        """The records say the states to which the events have led. Called when nothing happens any more."""
        await self.caught_up()
        snapshot, after = await self.store.snapshot(), self._after
        await self.caught_up()
        if self._after == after:
            self.broken += self.history.states_breaches(View.of(snapshot, self.queue).tasks)

    async def caught_up(self) -> None:
        """Returns when all that has happened so far has been read."""
        async with redis.asyncio.Redis.from_url(self.url, decode_responses=True) as client:
            last = await client.xrevrange(f"{{{self.queue}}}:events", count=1)
        deadline = time.monotonic() + 30.0
        while last and _place(self._after) < _place(last[0][0]):
            assert time.monotonic() < deadline, "the events cannot be followed"
            await anyio.sleep(AGAIN)


def _pending(snapshot: dict[str, Any]) -> list[list[str]]:
    return [held["content"] for key, held in snapshot.items() if "}:pending:" in key]


def _place(name: str) -> tuple[int, int]:
    ms, _, number = name.partition("-")
    return int(ms), int(number)
