"""A namespace of its own on a real server: the store under test, its clock, a plain client beside it, its checks."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any
from uuid import uuid4

import redis.asyncio as aioredis
from redis.exceptions import RedisError

from holdfast.store.memory import store as memory
from holdfast.store.memory.store import CommandClient
from holdfast.store.redis import RedisStore
from holdfast.store.redis.keys import Keys
from holdfast_config import RedisSettings
from holdfast_config.settings import MEMORY
from holdfastd.doctor import queue_snapshot
from holdfastd.doctor.finding import Level
from holdfastd.doctor.queue_snapshot import QueueSnapshot
from tests.conformance.stand import CAUSE, Stand, settlement
from tests.lua.clock import CLOCK, VirtualClock
from tests.lua.history import History
from tests.lua.invariants import breaches
from tests.lua.view import View

__all__ = ["CAUSE", "Namespace", "namespace", "settlement"]


class Namespace(Stand):
    """`plain` speaks for everybody who is not us: foreign producers, thieves, operators with redis-cli."""

    store: RedisStore

    def __init__(self, url: str, replaced: Mapping[str, str] | None = None, queue: str | None = None) -> None:
        queue = queue or f"test:{uuid4().hex[:12]}"
        replaced = {"clock": CLOCK, **(replaced or {})}
        if url == MEMORY:
            store = memory.MemoryStore(queue, replaced, most_waiting=1_000_000)
            self.plain: Any = CommandClient(store.engine)
        else:
            settings = RedisSettings(url=url, max_connections=4, queue=queue)
            store = RedisStore(settings, replaced)
            clients: Any = aioredis.Redis  # the library types no option
            self.plain = clients.from_url(url.replace("+cluster", ""), protocol=2)  # of one node, in tests
        super().__init__(store, queue)
        self.url, self.keys = url, Keys(queue)
        self.clock = VirtualClock(self.plain, self.queue)

    def key(self, name: str) -> str:
        return self.keys.prefix + name

    async def do(self, *command: str | bytes | int) -> Any:
        """One plain command of somebody else's."""
        return await self.plain.execute_command(*command)

    async def push(self, *entries: bytes, lane: str | None = None) -> None:
        """Push as a foreign producer does."""
        await self.do("RPUSH", lane or self.queue, *entries)

    async def advance(self, ms: int) -> None:
        await self.clock.advance(ms)

    async def entries(self, lane: str | None = None) -> list[bytes]:
        found: list[bytes] = await self.do("LRANGE", lane or self.queue, 0, -1)
        return found

    async def check(self, *, concurrency: int | None = None, stolen: bool = False) -> dict[str, Any]:
        """The snapshot, after all invariants and the whole history were found to hold."""
        snapshot = await self.store.snapshot()
        found = breaches(snapshot, self.queue, concurrency=concurrency, stolen=stolen)
        found += doctor_breaches(snapshot, self.queue, stolen=stolen)
        history = await self.history()
        found += [*history.breaches, *history.states_breaches(View.of(snapshot, self.queue).tasks)]
        assert not found, "\n".join(found)
        return snapshot

    async def history(self) -> History:
        """All that has happened, from the event stream."""
        history = History()
        history.tell(map(read_fields, await self.do("XRANGE", self.key("events"), "-", "+")))
        return history

    async def forget_keys(self) -> None:
        """A server that holds little is looked through quickly: each look of the other tests reads all its names."""
        if keys := await self.do("KEYS", f"{{{self.queue}}}:*"):
            await self.do("UNLINK", *keys)

    async def put_strays_back(self, silence_ms: int) -> None:
        """Look through all pages: other namespaces of the server may fill the first ones."""
        cursor = ""
        while cursor := (await self.store.strays(cursor, 1000, silence_ms, put_back=True)).cursor:
            pass

    async def require_history(self) -> None:
        """Nothing has happened that must not."""
        breaches = (await self.history()).breaches
        assert not breaches, "\n".join(breaches)

    async def aclose(self) -> None:
        await super().aclose()
        await self.plain.aclose()


def doctor_breaches(snapshot: Mapping[str, Any], queue: str, *, stolen: bool) -> list[str]:
    """The faults that `supervisor doctor` finds in this snapshot; where somebody else takes entries it is not asked."""
    if stolen:
        return []
    view = QueueSnapshot.of(snapshot, queue)
    findings = [*queue_snapshot.judge_invariants(view), *queue_snapshot.judge_orphan_keys(view, Keys(queue).prefix)]
    return [f"doctor: {finding.found}" for finding in findings if finding.level != Level.OK]


def read_fields(entry: Sequence[Any]) -> dict[str, str]:
    """The fields of one entry of a stream: a server's client gives a table, the one in memory a list."""
    if isinstance(entry[1], dict):
        return {name.decode(): text.decode(errors="surrogateescape") for name, text in entry[1].items()}
    words = [word.decode(errors="surrogateescape") for word in entry[1]]
    return dict(zip(words[::2], words[1::2], strict=True))


@asynccontextmanager
async def namespace(url: str, replaced: Mapping[str, str] | None = None) -> AsyncGenerator[Namespace]:
    space = Namespace(url, replaced)
    try:
        yield space
        await space.require_history()
    finally:
        if url != MEMORY:
            with suppress(RedisError):  # a server that the test has ended
                await space.forget_keys()
        await space.aclose()
