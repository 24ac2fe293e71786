"""A namespace of its own on a real server: the store under test, its clock, a plain client beside it, its checks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from uuid import uuid4

import redis.asyncio as aioredis

from holdfast.broker.redis import RedisStore
from holdfast.broker.redis.keys import Keys
from holdfast.core.deliveries import Delivery, Pulled, Settle, Settlement
from holdfast.core.records import Accepted, TaskRecord
from holdfast_config import RedisSettings
from tests.lua.clock import CLOCK, VirtualClock
from tests.lua.history import History
from tests.lua.invariants import breaches
from tests.lua.operations import introduction, submission

CAUSE = "died"


class Namespace:
    """`plain` speaks for everybody who is not us: foreign producers, thieves, operators with redis-cli."""

    def __init__(self, url: str, replaced: Mapping[str, str] | None = None, queue: str | None = None) -> None:
        self.url, self.queue = url, queue or f"test:{uuid4().hex[:12]}"
        settings = RedisSettings(url=url, max_connections=4, poll_timeout=1.0, queue=self.queue)
        self.store = RedisStore(settings, {"clock": CLOCK, **(replaced or {})})
        self.keys = Keys(self.queue)
        clients: Any = aioredis.Redis  # the library types no option
        self.plain: Any = clients.from_url(url, protocol=2)
        self.clock = VirtualClock(self.plain, self.queue)
        self._requests: dict[str, int] = {}

    def key(self, name: str) -> str:
        return self.keys.prefix + name

    async def do(self, *command: str | bytes | int) -> Any:
        """One plain command of somebody else's."""
        return await self.plain.execute_command(*command)

    async def push(self, *entries: bytes, lane: str | None = None) -> None:
        """What a foreign producer does."""
        await self.do("RPUSH", lane or self.queue, *entries)

    async def entries(self, lane: str | None = None) -> list[bytes]:
        found: list[bytes] = await self.do("LRANGE", lane or self.queue, 0, -1)
        return found

    async def submit(self, *task_ids: str, **more: Any) -> list[Accepted]:
        return await self.store.submit([submission(task_id, self.queue, **more) for task_id in task_ids])

    async def message(self, task_id: str, message_id: str, text: str = "more") -> Accepted:
        [answer] = await self.store.submit([submission(task_id, self.queue, message_id, text=text)])
        return answer

    async def register(self, *incarnations: str) -> None:
        for incarnation in incarnations:
            await self.store.register(introduction(incarnation))

    async def pull(
        self,
        incarnation: str,
        slots: int = 10,
        *settlements: Settlement,
        request: int | None = None,
        lanes: Sequence[str] = (),
    ) -> Pulled:
        """The worker's next request, or one of a given number; with the plain queue as only lane."""
        number = self._requests.get(incarnation, 0) + 1 if request is None else request
        self._requests[incarnation] = max(number, self._requests.get(incarnation, 0))
        return await self.store.pull(incarnation, number, slots, lanes or [self.queue], settlements)

    async def take(self, incarnation: str, slots: int = 10, *settlements: Settlement) -> list[Delivery]:
        return list((await self.pull(incarnation, slots, *settlements)).deliveries)

    async def settle(self, incarnation: str, delivery: Delivery, kind: Settle, **more: Any) -> str:
        """Settle one delivery, claim nothing; the verdict."""
        pulled = await self.pull(incarnation, 0, settlement(delivery, kind, **more))
        return pulled.verdicts[0]

    async def task(self, task_id: str) -> TaskRecord:
        record = await self.store.get(task_id)
        assert record is not None, f"no task {task_id}"
        return record

    async def state(self, task_id: str) -> str:
        return (await self.task(task_id)).state

    async def reasons(self) -> list[str]:
        """Why entries were set aside, newest first."""
        return [item.reason for item in await self.store.unreadable(1000)]

    async def crash(self, incarnation: str, *, charged: bool = True) -> int:
        return await self.store.recover(incarnation, CAUSE, charged)

    async def check(self, *, concurrency: int | None = None, stolen: bool = False) -> dict[str, Any]:
        """The snapshot, after all invariants and the whole history were found to hold."""
        snapshot = await self.store.snapshot()
        found = breaches(snapshot, self.queue, concurrency=concurrency, stolen=stolen)
        history = History()
        history.tell(snapshot.get(self.key("events"), {"content": []})["content"])  # type: ignore[index]  # of the port
        found += history.breaches
        assert not found, "\n".join(found)
        return snapshot

    async def aclose(self) -> None:
        await self.store.aclose()
        await self.plain.aclose()


def settlement(delivery: Delivery, kind: Settle, **more: Any) -> Settlement:
    return Settlement(delivery.task_id, delivery.claim, kind, **more)


@asynccontextmanager
async def namespace(url: str, replaced: Mapping[str, str] | None = None) -> AsyncGenerator[Namespace]:
    space = Namespace(url, replaced)
    try:
        yield space
    finally:
        await space.aclose()
