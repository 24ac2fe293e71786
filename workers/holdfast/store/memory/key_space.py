"""The key space and its Lua, both inside this process; every call is done when it returns.

An operation is compiled once and kept under the SHA of its text, as on a server; the library alone would compile it at
each call.
"""

from __future__ import annotations

import hashlib
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
    """Whoever waits for a key waits for a change, and looks again."""

    def __init__(self) -> None:
        clients: Any = fakeredis.FakeStrictRedis  # the library types no command
        self.client = clients(server=fakeredis.FakeServer(), protocol=2)
        self.client.response_callbacks.clear()
        self._changed = anyio.Event()
        self._callers: dict[str, str] = {}
        self._run_id = uuid4().hex
        self.client.execute_command("EVAL", "redis.operations = {}", 0)

    def do(self, *command: Any) -> Any:
        """The answer of one command that does not block."""
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
        """Whoever waits for a change looks again."""
        self._changed.set()
        self._changed = anyio.Event()

    async def change(self) -> None:
        """Wait for the next command of anybody.

        Where one follows the other, the event that was waited for has always come, and the loop, which cancels only
        who still waits, would never do so: so this is looked at.
        """
        await self._changed.wait()
        await anyio.lowlevel.checkpoint_if_cancelled()

    def look(self, *command: Any) -> Any:
        """The same, of a command that whoever waits need not be told of."""
        return self.client.execute_command(*command)

    def _evaluate(self, sha: str, *arguments: Any) -> Any:
        if sha not in self._callers:
            raise NoScriptError("NOSCRIPT No matching script.")
        return self.client.execute_command("EVALSHA", self._callers[sha], *arguments)

    def _load(self, source: bytes) -> bytes:
        sha = hashlib.sha1(source, usedforsecurity=False).hexdigest()
        body = source.partition(b"\n")[2]  # the first line is the script's flags, which are for servers
        kept = b'redis.operations["%s"]' % sha.encode()
        self.client.execute_command("EVAL", kept + b" = function()\n" + _beneath() + body + b"\nend", 0)
        self._callers[sha] = self.client.execute_command("SCRIPT", "LOAD", b"return " + kept + b"()").decode()
        return sha.encode()
