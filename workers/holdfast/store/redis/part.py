"""The base of the parts of the store: methods over one connection.

The store is one class made of these parts (see store.py), so each name stands in one of them only.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from holdfast.store.redis.connection import Connection, Value

Run = Callable[..., Awaitable[Any]]  # the name of a Lua operation, its arguments


class RedisPart:
    """Lua operations and plain commands over the connection.

    `_run` runs an operation, `_change_setting` one that changes a schedule, a lane or a host, and `_change_ended` one
    that changes a task which has ended. A store whose tasks PostgreSQL keeps replaces the last two.
    """

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._keys = connection.keys
        self._run: Run = connection.run
        self._change_setting: Run = connection.run
        self._change_ended: Run = connection.run
        self._command = connection.command
        self._block = connection.block

    async def clock_ms(self) -> int:
        """The store's clock."""
        return await self._number("now")

    async def _word(self, name: str, *args: Value) -> str:
        """Run an operation that answers with one word."""
        answer: bytes = await self._run(name, *args)
        return answer.decode()

    async def _number(self, name: str, *args: Value) -> int:
        """Run an operation that answers with one number."""
        answer: int = await self._run(name, *args)
        return answer
