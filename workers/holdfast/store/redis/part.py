"""The base of the parts of the Redis store."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.store.redis.connection import Connection, Value

Run = Callable[..., Awaitable[Any]]  # the name of a Lua operation, its arguments


class RedisPart:
    """A part of the store: methods over one connection.

    `run` runs its Lua operations: that of the connection, unless a ledger writes changes to PostgreSQL first.
    """

    def __init__(self, connection: Connection, run: Run | None = None) -> None:
        self._connection = connection
        self._keys = connection.keys
        self._run = run or connection.run
        self._command = connection.command
        self._block = connection.block

    async def _word(self, name: str, *args: Value) -> str:
        """Run an operation that answers with one word."""
        answer: bytes = await self._run(name, *args)
        return answer.decode()

    async def _number(self, name: str, *args: Value) -> int:
        """Run an operation that answers with one number."""
        answer: int = await self._run(name, *args)
        return answer
