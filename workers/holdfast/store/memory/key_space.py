"""The key space and its Lua, both inside this process; every call is done when it returns.

An operation is compiled once and kept under the SHA of its text, as on a server; the library would compile it at each
call.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from importlib.resources import files
from typing import Any
from uuid import uuid4

import anyio
import anyio.lowlevel
import fakeredis
from redis.exceptions import NoScriptError

_INFO = "redis_version:7.0.0\r\nrun_id:{run_id}\r\nmaxmemory_policy:noeviction\r\n"


@cache
def _beneath() -> bytes:
    return files("holdfast.store.memory").joinpath("beneath.lua").read_bytes()


class KeySpace:
    """Keys with their commands. Blocked callers wait for `change` and look again."""

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

        If commands follow one another without a pause the event is always set, and the loop, which cancels only waiting
        tasks, would never cancel this one: so cancellation is checked here.
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
    """Yields to the event loop with each command, so that no caller starves the others."""

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
        """The answer of `look` once it has one, or None after so many seconds."""
        with anyio.move_on_after(seconds):
            while (found := look()) is None:
                await self._engine.change()
            return found
        return None


class Channel:
    """A subscription."""

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
        """The next message; waits without a limit."""
        while (message := self._channel.get_message()) is None:
            await self._engine.change()
        return dict(message)
