"""The client that the Redis store uses in memory: commands go to the key space of this process, blocking ones wait
here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel

from holdfast.store.memory.key_space import KeySpace

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
