"""The whole store in memory, and its bound: who submits more than it holds waits until workers have taken some."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TypeVar

import anyio

from holdfast.core.store_info import StoreInfo
from holdfast.core.tasks import Accepted, Receipt, Submission
from holdfast.errors import StoreError
from holdfast.store.memory.command_client import CommandClient
from holdfast.store.memory.key_space import KeySpace
from holdfast.store.redis import RedisStore
from holdfast.store.redis.clients import Clients
from holdfast_config import RedisSettings
from holdfast_config.settings import MEMORY

MOST_WAITING = 100  # tasks that are submitted and not claimed, in all lanes

T = TypeVar("T")


class MemoryStore(RedisStore):
    """Implements `holdfast.store.protocol.Store` for one process and one event loop. `most_waiting`: its bound."""

    def __init__(
        self, queue: str, replaced: Mapping[str, str] | None = None, *, most_waiting: int = MOST_WAITING
    ) -> None:
        self.engine = KeySpace()
        client = CommandClient(self.engine)
        super().__init__(RedisSettings(MEMORY, queue=queue), replaced, Clients(client, client, client))
        self._most_waiting = most_waiting
        self._lanes: dict[str, None] = {}
        self._door = anyio.Lock()

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        return await self._through_the_door(super().submit, submissions)

    async def submit_on_terms(self, submissions: Sequence[Submission]) -> list[Receipt]:
        """Tasks that wait for others take up no room yet: when these have ended there may be more than the bound."""
        return await self._through_the_door(super().submit_on_terms, submissions)

    async def _through_the_door(
        self, submit: Callable[[Sequence[Submission]], Awaitable[list[T]]], submissions: Sequence[Submission]
    ) -> list[T]:
        """As many at once as there is room for; who came first goes first."""
        self._lanes |= dict.fromkeys(self._keys.name(one.lane) for one in submissions)
        answers: list[T] = []
        async with self._door:
            while len(answers) < len(submissions):
                room = await self._room()
                answers += await submit(submissions[len(answers) : len(answers) + room])
        return answers

    async def _room(self) -> int:
        """For how many tasks there is room; waits until there is some."""
        while (waiting := self._waiting()) >= self._most_waiting:
            await self.engine.change()
        return self._most_waiting - waiting

    def _waiting(self) -> int:
        return sum(self.engine.look("ZCARD", self._keys.submitted(lane)) for lane in self._lanes)

    async def examine(self, lanes: Sequence[str], watch: float) -> StoreInfo:
        raise StoreError("the store in memory is in the process that uses it: there is no server to look at")
