"""Runs commands over connections of the library's pool, without the library's client.

For each command that client takes a connection from the pool, packs the command in Python, sets two time limits and
gives the connection back, which takes three times as long as the command itself. This one keeps the connections that it
has taken, and gives one back only if a caller waits for the pool. A connection is the library's own: TLS, login,
Sentinel and health checks are as with its client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from operator import methodcaller
from typing import Any, cast

import hiredis
from redis.asyncio.connection import AbstractConnection
from redis.exceptions import DataError
from redis.exceptions import TimeoutError as NoAnswerError

_pack: Callable[[tuple[Any, ...]], bytes] = cast("Any", hiredis).pack_command  # the library types no length
# The name since redis-py 8, which deprecates the other; the extra `bindu` brings 7.4, which has that one alone.
_can_read: Callable[[Any], Awaitable[bool]] = methodcaller(
    "can_read" if hasattr(AbstractConnection, "can_read") else "can_read_destructive"
)


class DirectClient:
    """`client`: the library's. `answer_timeout`: the longest time in seconds from sending a command to its answer, None
    for commands that block. `sent`: called, if set, between the two."""

    def __init__(self, client: Any, answer_timeout: float | None) -> None:
        self._client = client
        self.connection_pool: Any = client.connection_pool
        self._answer_timeout = answer_timeout
        self._idle: list[Any] = []
        self._callers_of_pool = 0
        self.sent: Callable[[tuple[Any, ...]], Awaitable[None]] | None = None

    async def execute_command(self, *command: Any) -> Any:
        """The answer; raises the library's errors. A call that ends without its answer closes the connection, on which
        that may still come."""
        packed = _packed(command)
        connection = await self._take()
        try:
            async with asyncio.timeout(self._answer_timeout):
                await connection.send_packed_command((packed,))
                if self.sent is not None:
                    await self.sent(command)
                return await connection.read_response()
        except TimeoutError as error:
            await connection.disconnect(nowait=True)
            raise NoAnswerError(f"no answer within {self._answer_timeout:g} s") from error
        finally:
            if self._callers_of_pool or not connection.is_connected:
                await self._give_back(connection)
            else:
                self._idle.append(connection)

    async def give_back_idle(self) -> None:
        """Give all connections that run no command back to the pool."""
        while self._idle:
            await self._give_back(self._idle.pop())

    def pubsub(self) -> Any:
        """A subscription, which takes a connection of its own from the pool."""
        return self._client.pubsub()

    async def aclose(self) -> None:
        self._idle.clear()
        await self._client.aclose()

    async def _take(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if connection.is_connected and not connection.should_reconnect() and not await _can_read(connection):
                return connection
            await self._give_back(connection)
        return await self._take_from_pool()

    async def _take_from_pool(self) -> Any:
        """A connection for which the pool has done login and checks; it waits while all are in use."""
        self._callers_of_pool += 1
        try:
            connection = await self.connection_pool.get_connection()
        finally:
            self._callers_of_pool -= 1
        connection.socket_timeout = None  # one time limit for sending and reading costs less than the library's two
        return connection

    async def _give_back(self, connection: Any) -> None:
        connection.socket_timeout = self._answer_timeout  # for its next login
        await self.connection_pool.release(connection)


def _packed(command: tuple[Any, ...]) -> bytes:
    try:
        return _pack(command)
    except TypeError as error:
        raise DataError(f"a command takes texts, bytes and numbers: {error}") from error
