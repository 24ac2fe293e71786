"""Runs commands over connections of the library's pool, without the library's client.

For each command that client takes a connection from the pool, packs the command in Python, sets two time limits, reads
through two streams and gives the connection back, which takes four times as long as the command itself. Its table of
all commands writes to memory that processes share. This one keeps the connections that it has taken, and gives one back
only if a caller waits for the pool. The library opens them: TLS, login, Sentinel and Cluster are as with its client.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, cast

import hiredis
from redis.exceptions import DataError, NoScriptError, ResponseError

from holdfast.store.redis.command_protocol import CommandProtocol

_pack: Callable[[tuple[Any, ...]], bytes] = cast("Any", hiredis).pack_command  # the library types no length


Send = Callable[..., bool]  # sends a command behind one that blocks; False if that has ended
Offer = Callable[[Send | None], None]


class CommandBehind:
    """A command behind one that blocks: the server runs it as soon as that one has ended."""

    def __init__(self, protocol: CommandProtocol) -> None:
        self._protocol = protocol
        self.command: tuple[Any, ...] = ()
        self.answer: asyncio.Future[Any] | None = None

    def send(self, *command: Any) -> bool:
        if self.answer is None:
            self.command, self.answer = command, self._protocol.send_behind(_packed(command))
        return self.answer is not None

    async def answered(self) -> Any:
        """Its answer; None where the server does not know its script, and so has not run it."""
        try:
            return None if self.answer is None else await self.answer
        except NoScriptError:
            return None

    def forget(self) -> None:
        """Nobody waits for its answer any more."""
        if self.answer is not None:
            self.answer.cancel()


class DirectClient:
    """`pool`: the library's. `answer_timeout`: the longest time in seconds from sending a command to its answer, None
    for commands that block. `sent`: called, if set, between the two."""

    def __init__(self, pool: Any, answer_timeout: float | None) -> None:
        self.connection_pool = pool
        self._answer_timeout = answer_timeout
        self._idle: list[CommandProtocol] = []
        self._callers_of_pool = 0
        self.sent: Callable[[tuple[Any, ...]], Awaitable[None]] | None = None

    async def execute_command(self, *command: Any) -> Any:
        """The answer; raises the library's errors. A call that ends without its answer closes the connection, on which
        that may still come."""
        packed = _packed(command)
        protocol = self._idle.pop() if self._idle else None
        if protocol is None or not protocol.is_usable:
            protocol = await self._take_another(protocol)
        try:
            if not protocol.is_fresh:
                await protocol.ping()
            answer = protocol.send(packed)
            if self.sent is not None:
                await self.sent(command)
            return await answer
        except ResponseError:  # that is an answer
            raise
        except BaseException:
            protocol.is_spoiled = True
            raise
        finally:
            await self._keep(protocol)

    async def execute_waiting(self, wait: tuple[Any, ...], offer: Offer, seconds: float) -> tuple[Any, Any]:
        """The answers of a command that blocks, and of another that was sent behind it meanwhile; None without one, or
        where the server did not know its script.

        `offer` gets the function that sends that one, then None once it cannot be sent any more. `seconds`: the longest
        time from the first answer to the second. After an error the second command may have run or not.
        """
        packed = _packed(wait)
        protocol = await self._take_another(None)
        behind = CommandBehind(protocol)
        try:
            ended = await self._wait(protocol, packed, behind, offer)
            if behind.answer is None:
                return ended, None
            if self.sent is not None:
                await self.sent(behind.command)
            if not behind.answer.done():  # both mostly come together, and a time limit takes time
                done, _ = await asyncio.wait([behind.answer], timeout=seconds)
                if not done:
                    raise TimeoutError(f"no second answer within {seconds:g} s")
            return ended, await behind.answered()
        except BaseException:
            behind.forget()
            protocol.is_spoiled = True  # an answer may still come
            raise
        finally:
            await self._keep(protocol)

    async def _wait(self, protocol: CommandProtocol, packed: bytes, behind: CommandBehind, offer: Offer) -> Any:
        """The answer of the command that blocks."""
        if not protocol.is_fresh:  # the server may be gone
            await protocol.ping()
        answer = protocol.send(packed)
        offer(behind.send)
        try:
            return await answer
        finally:
            offer(None)

    async def give_back_idle(self) -> None:
        """Give all connections that run no command back to the pool."""
        while self._idle:
            await self._give_back(self._idle.pop())

    def pubsub(self) -> Any:
        """A subscription, which takes a connection of its own from the pool."""
        from redis.asyncio.client import PubSub

        return PubSub(self.connection_pool)

    async def aclose(self) -> None:
        self._idle.clear()
        await self.connection_pool.aclose()

    async def _take_another(self, unusable: CommandProtocol | None) -> CommandProtocol:
        """A connection for which the pool has done login and checks; it waits while all are in use."""
        if unusable is not None:
            await self._give_back(unusable)
        while self._idle:
            kept = self._idle.pop()
            if kept.is_usable:
                return kept
            await self._give_back(kept)
        self._callers_of_pool += 1
        try:
            connection = await self.connection_pool.get_connection()
        finally:
            self._callers_of_pool -= 1
        return CommandProtocol(connection, self._answer_timeout)

    async def _keep(self, protocol: CommandProtocol) -> None:
        if self._callers_of_pool or protocol.is_spoiled:
            await self._give_back(protocol)
        else:
            self._idle.append(protocol)

    async def _give_back(self, protocol: CommandProtocol) -> None:
        if not protocol.is_usable:
            await protocol.connection.disconnect(nowait=True)
        protocol.leave()
        await self.connection_pool.release(protocol.connection)


def _packed(command: tuple[Any, ...]) -> bytes:
    try:
        return _pack(command)
    except TypeError as error:
        raise DataError(f"a command takes texts, bytes and numbers: {error}") from error
