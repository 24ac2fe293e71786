"""The whole store in memory. Only a limited number of tasks may wait in it. A further submit waits until there is
room."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from importlib.resources import files
from typing import Any, TypeVar
from uuid import uuid4

import anyio
import anyio.lowlevel
import fakeredis
from redis.exceptions import NoScriptError

from holdfast.core.acceptance import Accepted, Receipt, Submission
from holdfast.core.store_info import StoreInfo
from holdfast.errors import StoreError, StoreRefusedError
from holdfast.store.redis import RedisStore
from holdfast.store.redis.clients import Clients
from holdfast_config import RedisSettings
from holdfast_config.settings import MEMORY

# The key space and its Lua, both inside this process; every call is done when it returns.
#
# An operation is compiled once and kept under the SHA of its text, as on a server; the library would compile it at each
# call.

_INFO = "redis_version:7.0.0\r\nrun_id:{run_id}\r\nmaxmemory_policy:noeviction\r\n"


@cache
def _beneath() -> bytes:
    return files("holdfast.store.memory").joinpath("beneath.lua").read_bytes()


class KeySpace:
    """The keys of a store in memory, and the commands on them. Blocked callers wait for `change` and look again."""

    def __init__(self) -> None:
        clients: Any = fakeredis.FakeStrictRedis  # the library types no command
        self.client = clients(server=fakeredis.FakeServer(), protocol=2)
        self.client.response_callbacks.clear()
        self._changed = anyio.Event()
        self._callers: dict[str, str] = {}
        self._run_id = uuid4().hex
        self.client.execute_command("EVAL", "redis.operations = {}", 0)

    def do(self, *command: Any) -> Any:
        """Run one command that does not block, and wake blocked callers."""
        match command:
            case ("EVALSHA", sha, *rest):
                answer = self._evaluate(sha, *rest)
            case ("SCRIPT", "LOAD", source):
                answer = self._load(source)
            case ("INFO", *_):
                answer = _INFO.format(run_id=self._run_id).encode()
            case _:
                answer = self.client.execute_command(*command)
        self.announce()
        return answer

    def announce(self) -> None:
        """Wake blocked callers, which look again."""
        self._changed.set()
        self._changed = anyio.Event()

    async def change(self) -> None:
        """Wait for the next command of any caller.

        If commands follow one another without a pause, this method never really waits. asyncio cancels a task only
        while the task waits. So this method checks for a cancel itself.
        """
        await self._changed.wait()
        await anyio.lowlevel.checkpoint_if_cancelled()

    def look(self, *command: Any) -> Any:
        """Run a command without waking blocked callers."""
        return self.client.execute_command(*command)

    def _evaluate(self, sha: str, *arguments: Any) -> Any:
        if sha not in self._callers:
            raise NoScriptError("NOSCRIPT No matching script.")
        return self.client.execute_command("EVALSHA", self._callers[sha], *arguments)

    def _load(self, source: bytes) -> bytes:
        sha = hashlib.sha1(source, usedforsecurity=False).hexdigest()
        body = source.partition(b"\n")[2]  # the first line is the script's flags, which are for servers
        variable = b'redis.operations["%s"]' % sha.encode()
        self.client.execute_command("EVAL", variable + b" = function()\n" + _beneath() + body + b"\nend", 0)
        self._callers[sha] = self.client.execute_command("SCRIPT", "LOAD", b"return " + variable + b"()").decode()
        return sha.encode()


# The client that the Redis store uses in memory: commands go to the key space of this process, blocking ones wait here.

_AT_ONCE = {"BLPOP": "LPOP", "BRPOP": "RPOP", "BLMOVE": "LMOVE"}


class CommandClient:
    """A client of the key space. Each command yields to the event loop, so that no caller starves the others."""

    def __init__(self, engine: KeySpace) -> None:
        self._engine = engine

    async def execute_command(self, *command: Any) -> Any:
        await anyio.lowlevel.checkpoint()
        match command:
            case ("BLPOP" | "BRPOP" as verb, *keys, timeout):
                return await self._until(lambda: self._pop(_AT_ONCE[verb], keys), timeout)
            case ("BLMOVE" as verb, *rest, timeout):
                return await self._until(lambda: self._engine.look(_AT_ONCE[verb], *rest), timeout)
            case ("XREAD" as verb, "COUNT", count, "BLOCK", timeout, *rest):
                return await self._until(lambda: self._engine.look(verb, "COUNT", count, *rest) or None, timeout / 1000)
            case _:
                return self._engine.do(*command)

    def pubsub(self) -> Channel:
        return Channel(self._engine)

    @property
    def connection_pool(self) -> CommandClient:
        return self

    async def disconnect(self) -> None:
        """Do nothing: there is no connection."""

    async def aclose(self) -> None:
        """Do nothing: there is no connection."""

    def _pop(self, verb: str, keys: Sequence[str]) -> tuple[bytes, bytes] | None:
        for key in keys:
            if (word := self._engine.look(verb, key)) is not None:
                return key.encode(), word
        return None

    async def _until(self, look: Callable[[], Any], seconds: float) -> Any:
        """Call `look` after every change of the key space until it returns an answer; returns this answer. Returns None
        if there is no answer after `seconds`."""
        with anyio.move_on_after(seconds):
            while (found := look()) is None:
                await self._engine.change()
            return found
        return None


class Channel:
    """A subscription to channels of a store in memory."""

    def __init__(self, engine: KeySpace) -> None:
        self._engine = engine
        self._channel = engine.client.pubsub()

    async def aclose(self) -> None:
        self._channel.close()

    async def subscribe(self, *names: str) -> None:
        self._channel.subscribe(*names)
        self._engine.announce()

    async def psubscribe(self, *patterns: str) -> None:
        self._channel.psubscribe(*patterns)
        self._engine.announce()

    async def unsubscribe(self, *names: str) -> None:
        self._channel.unsubscribe(*names)

    async def get_message(self, timeout: None = None) -> dict[str, Any]:
        """Wait, without a limit, for the next message, and return it."""
        while (message := self._channel.get_message()) is None:
            await self._engine.change()
        return dict(message)


MOST_WAITING = 100  # tasks that are submitted and not claimed, in all lanes

T = TypeVar("T")


class MemoryStore(RedisStore):
    """A store for one process and one event loop: a Redis store whose commands run in this process.

    A submit waits until there is room for its tasks. `most_waiting`: the number of tasks that may wait.
    """

    def __init__(
        self, queue: str, replaced: Mapping[str, str] | None = None, *, most_waiting: int = MOST_WAITING
    ) -> None:
        self.engine = KeySpace()
        client = CommandClient(self.engine)
        super().__init__(RedisSettings(MEMORY, queue=queue), replaced, Clients(client, client, client))
        self._most_waiting = most_waiting
        self._submitted_lanes: dict[str, None] = {}
        self._submit_turn = anyio.Lock()

    async def submit(self, submissions: Sequence[Submission]) -> list[Accepted]:
        return await self._in_steps(super().submit, submissions)

    async def submit_with_options(self, submissions: Sequence[Submission]) -> list[Receipt]:
        """Submit tasks. A task that waits for parents is not counted against the limit of waiting tasks. So when
        parents have ended, more tasks than the limit may wait."""
        return await self._in_steps(super().submit_with_options, submissions)

    async def _in_steps(
        self, submit: Callable[[Sequence[Submission]], Awaitable[list[T]]], submissions: Sequence[Submission]
    ) -> list[T]:
        """Submit the tasks in parts, each as large as the room in the store allows. If several callers submit, one
        submits all its tasks before the next one begins."""
        self._submitted_lanes |= dict.fromkeys(self._keys.name(one.lane) for one in submissions)
        answers: list[T] = []
        async with self._submit_turn:
            while len(answers) < len(submissions):
                room = await self._room()
                answers += await submit(submissions[len(answers) : len(answers) + room])
        return answers

    async def _room(self) -> int:
        """The number of tasks for which there is room; waits until there is some."""
        while (waiting := self._waiting()) >= self._most_waiting:
            await self.engine.change()
        return self._most_waiting - waiting

    def _waiting(self) -> int:
        return sum(self.engine.look("ZCARD", self._keys["submitted"] + lane) for lane in self._submitted_lanes)

    async def examine(self, lanes: Sequence[str], watch: float) -> StoreInfo:
        raise StoreError("the store in memory has no server to examine")

    async def examine_again(self, lanes: Sequence[str], earlier: StoreInfo) -> StoreInfo:
        return await self.examine(lanes, 0.0)


# Shares stores in memory: a caller gets the one that this process serves for its queue, else a new one.

_served: dict[str, MemoryStore] = {}


@contextmanager
def serving(queue: str) -> Generator[MemoryStore]:
    """A store in memory that all callers of this process share when they open this queue."""
    store = _served[queue] = MemoryStore(queue)
    try:
        yield store
    finally:
        del _served[queue]


def is_served(queue: str) -> bool:
    """True if a `serving` block of this process shares a store of this queue."""
    return queue in _served


@asynccontextmanager
async def open_memory(queue: str) -> AsyncGenerator[MemoryStore]:
    """The store of this queue, if this process serves the queue in memory. If this process serves nothing in memory, a
    new, empty store.

    Raises StoreRefusedError if this process serves another queue: no worker would ever run tasks of this queue.
    """
    if _served and queue not in _served:
        [served] = _served
        raise StoreRefusedError(
            f"this process serves queue {served} in memory, not {queue}: set queue_name to {served}"
        )
    yield _served.get(queue) or MemoryStore(queue)
