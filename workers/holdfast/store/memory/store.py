"""The whole store in memory, in which a limited number of tasks wait; a submit beyond that waits for room."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TypeVar

import anyio

from holdfast.core.store_info import StoreInfo
from holdfast.core.tasks import Accepted, Receipt, Submission
from holdfast.errors import StoreError, StoreRefusedError
from holdfast.store.memory.key_space import CommandClient, KeySpace
from holdfast.store.parts import ComposedStore
from holdfast.store.protocol import InspectStore, ProducerStore
from holdfast.store.redis import RedisStore
from holdfast.store.redis.clients import Clients
from holdfast.store.redis.keys import Keys
from holdfast_config import RedisSettings
from holdfast_config.settings import MEMORY

MOST_WAITING = 100  # tasks that are submitted and not claimed, in all lanes

T = TypeVar("T")


class MemoryStore(ComposedStore):
    """Implements `holdfast.store.protocol.Store` for one process and one event loop.

    It is a Redis store whose commands run in this process. `most_waiting`: the number of tasks that may wait.
    """

    def __init__(
        self, queue: str, replaced: Mapping[str, str] | None = None, *, most_waiting: int = MOST_WAITING
    ) -> None:
        self.engine = KeySpace()
        client = CommandClient(self.engine)
        self.redis = RedisStore(RedisSettings(MEMORY, queue=queue), replaced, Clients(client, client, client))
        self.connection = self.redis.connection
        parts = self.redis.parts
        producer = BoundedProducer(parts.producer, self.engine, self.connection.keys, most_waiting)
        super().__init__(replace(parts, producer=producer, inspect=MemoryInspect(parts.inspect)))

    @property
    def url(self) -> str:
        """The store's name: it has no server."""
        return self.redis.url

    async def aclose(self) -> None:
        await self.redis.aclose()


class BoundedProducer:
    """The calls of producers; a submit waits until there is room for its tasks."""

    def __init__(self, producer: ProducerStore, engine: KeySpace, keys: Keys, most_waiting: int) -> None:
        self._producer = producer
        self._engine = engine
        self._keys = keys
        self._most_waiting = most_waiting
        self._lanes: dict[str, None] = {}
        self._turn = anyio.Lock()
        self.message = producer.message
        self.cancel = producer.cancel
        self.pause = producer.pause
        self.resume = producer.resume
        self.settled = producer.settled
        self.emitted = producer.emitted

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        return await self._in_steps(self._producer.submit, submissions)

    async def submit_with_options(self, submissions: Sequence[Submission]) -> list[Receipt]:
        """Tasks that wait for others are not counted yet: when these have ended more may wait than the limit."""
        return await self._in_steps(self._producer.submit_with_options, submissions)

    async def _in_steps(
        self, submit: Callable[[Sequence[Submission]], Awaitable[list[T]]], submissions: Sequence[Submission]
    ) -> list[T]:
        """Submit as many at once as there is room for, one caller after the other."""
        self._lanes |= dict.fromkeys(self._keys.name(one.lane) for one in submissions)
        answers: list[T] = []
        async with self._turn:
            while len(answers) < len(submissions):
                room = await self._room()
                answers += await submit(submissions[len(answers) : len(answers) + room])
        return answers

    async def _room(self) -> int:
        """The number of tasks for which there is room; waits until there is some."""
        while (waiting := self._waiting()) >= self._most_waiting:
            await self._engine.change()
        return self._most_waiting - waiting

    def _waiting(self) -> int:
        return sum(self._engine.look("ZCARD", self._keys.submitted(lane)) for lane in self._lanes)


class MemoryInspect:
    """The calls that look at everything; there is no server to examine."""

    def __init__(self, redis: InspectStore) -> None:
        self.snapshot = redis.snapshot

    async def examine(self, lanes: Sequence[str], watch: float) -> StoreInfo:
        raise StoreError("the store in memory is in the process that uses it: there is no server to look at")


# Shares stores in memory: a caller gets the one that this process serves for its queue, else a new one.

_served: dict[str, MemoryStore] = {}


@contextmanager
def serving(queue: str) -> Generator[MemoryStore]:
    """A store that every caller in this process who opens this queue shares."""
    store = _served[queue] = MemoryStore(queue)
    try:
        yield store
    finally:
        del _served[queue]


def is_served(queue: str) -> bool:
    """True if every caller in this process shares one store of this queue."""
    return queue in _served


@asynccontextmanager
async def open_memory(queue: str) -> AsyncGenerator[MemoryStore]:
    """The store of this queue, if this process serves one in memory; else a new one, empty.

    Raises StoreRefusedError if this process serves another queue: nobody would ever run the tasks.
    """
    if _served and queue not in _served:
        [served] = _served
        raise StoreRefusedError(f"this process serves queue {served} in memory, not {queue}: give that queue_name")
    yield _served.get(queue) or MemoryStore(queue)
