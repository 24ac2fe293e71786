"""Runs commands over connections of the library's pool, without the library's client.

For each command, the library's client takes a connection from the pool, packs the command in Python, sets two time
limits, reads through two streams and gives the connection back. This takes four times as long as the command itself.
Its table of all commands also makes forked processes copy memory that they could share. FastClient keeps the
connections that it has taken, and gives one back only if a caller waits for the pool. The library opens the
connections, so TLS, login, Sentinel and Cluster work as usual.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final, cast

import hiredis
from redis.exceptions import ConnectionError, DataError, InvalidResponse, NoScriptError, RedisError, ResponseError  # noqa: A004 - the library's name
from redis.exceptions import TimeoutError as NoAnswerError

# Commands over a transport of a logged-in connection of the library, without its streams and parser.
#
# The library connects, with TLS where asked for, logs in and names the client; then `CommandProtocol` takes the place
# of the library's protocol on the transport. It sends one command at a time, or one behind a command that blocks, which
# the server runs as soon as that has ended: an answer that nobody waits for belongs to no command, and the connection
# cannot be used any more. `leave` puts the library's protocol in its place again.

PING: Final[bytes] = cast("Any", hiredis).pack_command(("PING",))  # the library types no length
PONG = b"PONG"
CLOSED = "Connection closed by server."  # in the words of the library


class CommandProtocol(asyncio.Protocol):
    """Sends commands over one logged-in connection, and reads their answers. `connection`: a connected one of the
    library. `answer_timeout`: the longest time in seconds from sending a command to its answer; None for commands that
    block. `is_spoiled`: a late answer of an earlier command may still come."""

    def __init__(self, connection: Any, answer_timeout: float | None) -> None:
        self.connection = connection
        self._answer_timeout = answer_timeout
        self._pinged_after: float = connection.health_check_interval or float("inf")
        self._reader = hiredis.Reader(protocolError=InvalidResponse, replyError=connection._parser.parse_error)
        self._loop = asyncio.get_running_loop()
        self._transport: Any = connection._writer.transport
        self._library: asyncio.Protocol = self._transport.get_protocol()
        self._answer: asyncio.Future[Any] | None = None
        self._answer_behind: asyncio.Future[Any] | None = None
        self.is_spoiled = False
        self._sent_at = time.monotonic()
        self._timer: asyncio.TimerHandle | None = None
        self._transport.set_protocol(self)

    @property
    def is_usable(self) -> bool:
        """True if a command may be sent now: the connection is open, and the next answer will be the answer to this
        command."""
        return not (self.is_spoiled or self._transport.is_closing() or self.connection.should_reconnect())

    @property
    def is_fresh(self) -> bool:
        """True if a command was sent not long ago. If False, the caller first sends a `ping`, to see that the server is
        still there."""
        return time.monotonic() - self._sent_at < self._pinged_after

    def send(self, packed: bytes) -> asyncio.Future[Any]:
        """Send a command; the future gets its answer, or an error of the library. The connection must be usable."""
        self._sent_at = time.monotonic()
        if self._timer is None and self._answer_timeout is not None:
            self._timer = self._loop.call_later(self._answer_timeout, self._look_at_time)
        answer = self._answer = self._loop.create_future()
        self._transport.write(packed)
        return answer

    def send_behind(self, packed: bytes) -> asyncio.Future[Any] | None:
        """Send a second command while the first still blocks. Returns None if the first answer has already come. The
        future gets the second answer; it is cancelled if the first command gets no answer."""
        if self._answer is None or self._answer_behind is not None:
            return None
        answer = self._answer_behind = self._loop.create_future()
        self._transport.write(packed)
        return answer

    async def ping(self) -> None:
        if await self.send(PING) != PONG or not self.is_usable:
            raise ConnectionError("Bad response from PING health check")

    def leave(self) -> None:
        """Let the library's protocol handle the connection again, unless the connection has ended: the library's
        protocol already knows that."""
        self._stop_timer()
        if not self._transport.is_closing():
            self._transport.set_protocol(self._library)

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self.is_spoiled = True
            return
        try:
            self._reader.feed(data)
            reply = self._reader.gets()
            if reply is False:
                return
            if self._answer_behind is not None:
                self._end(reply)
                reply = self._reader.gets()
                if reply is False:
                    return
            self.is_spoiled = self._reader.has_data()
        except RedisError as error:
            self.is_spoiled = True
            self._break(error)
            return
        self._end(reply)

    def eof_received(self) -> None:
        self._library.eof_received()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._library.connection_lost(exc)
        self._break(ConnectionError(f"{CLOSED} {exc or ''}".rstrip()))

    def _end(self, reply: Any) -> None:
        """Give the reply to the caller that waits for it."""
        answer, self._answer, self._answer_behind = self._answer, self._answer_behind, None
        if answer is None or answer.done():  # its caller was cancelled
            return
        if isinstance(reply, RedisError):
            answer.set_exception(reply)
        else:
            answer.set_result(reply)

    def _break(self, error: RedisError) -> None:
        """Give an error to all waiting callers: no answer comes any more."""
        behind, self._answer_behind = self._answer_behind, None
        if behind is not None:
            behind.cancel()
        self._end(error)

    def _look_at_time(self) -> None:
        """End commands that have waited too long for their answers. One timer serves many commands, because one timer
        for each command would cost time."""
        self._timer = None
        if self._answer is None or self._answer_timeout is None:
            return
        left = self._sent_at + self._answer_timeout - time.monotonic()
        if left > 0:
            self._timer = self._loop.call_later(left, self._look_at_time)
        else:
            self.is_spoiled = True
            self._end(NoAnswerError(f"no answer within {self._answer_timeout:g} s"))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


_pack: Callable[[tuple[Any, ...]], bytes] = cast("Any", hiredis).pack_command  # the library types no length


Send = Callable[..., bool]  # sends a command behind one that blocks; False if that has ended
Offer = Callable[[Send | None], None]


class CommandBehind:
    """A command that was sent while another one blocks. The server runs the second command as soon as the first one has
    ended."""

    def __init__(self, protocol: CommandProtocol) -> None:
        self._protocol = protocol
        self.command: tuple[Any, ...] = ()
        self.answer: asyncio.Future[Any] | None = None

    def send(self, *command: Any) -> bool:
        if self.answer is None:
            self.command, self.answer = command, self._protocol.send_behind(_packed(command))
        return self.answer is not None

    async def answered(self) -> Any:
        """The answer of the command. None if the server did not know the command's script, and so has not run it."""
        try:
            return None if self.answer is None else await self.answer
        except NoScriptError:
            return None

    def forget(self) -> None:
        """Drop the answer of the command: nobody waits for it any more."""
        if self.answer is not None:
            self.answer.cancel()


class FastClient:
    """A Redis client over the library's connection `pool`. `answer_timeout`: the longest time in seconds from sending a
    command to its answer; None for commands that block. `sent`: called, if set, after a command was sent and before its
    answer is awaited."""

    def __init__(self, pool: Any, answer_timeout: float | None) -> None:
        self.connection_pool = pool
        self._answer_timeout = answer_timeout
        self._idle: list[CommandProtocol] = []
        self._callers_of_pool = 0
        self.sent: Callable[[tuple[Any, ...]], Awaitable[None]] | None = None

    async def execute_command(self, *command: Any) -> Any:
        """Send a command and return its answer. Raises the library's errors. If the call ends before the answer, the
        connection is closed, because the answer may still come on it."""
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
        """The answers of a blocking command, and of a second one sent behind it. The second answer is None if no second
        command was sent, or if the server did not have its script. `offer` gets the function that sends the second
        command, and later None when it is too late.

        `seconds`: the longest time from the first answer to the second. After an error the second command may have run.
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
        """Wait for the answer of the blocking command."""
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
        """Take a connection from the pool; the pool has logged the connection in and checked it. Waits while all
        connections are in use."""
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
