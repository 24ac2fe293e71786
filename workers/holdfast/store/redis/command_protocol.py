"""Commands over a transport of a logged-in connection of the library, without its streams and parser.

The library connects, with TLS where asked for, logs in and names the client; then `CommandProtocol` takes the place of
the library's protocol on the transport. It sends one command at a time, or one behind a command that blocks, which the
server runs as soon as that has ended: an answer that nobody waits for belongs to no command, and the connection cannot
be used any more. `leave` puts the library's protocol in its place again.
"""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final, cast

import hiredis
from redis.exceptions import ConnectionError, InvalidResponse, RedisError  # noqa: A004 - the library's name
from redis.exceptions import TimeoutError as NoAnswerError

PING: Final[bytes] = cast("Any", hiredis).pack_command(("PING",))  # the library types no length
PONG = b"PONG"
CLOSED = "Connection closed by server."  # in the words of the library


class CommandProtocol(asyncio.Protocol):
    """`connection`: a connected one of the library. `answer_timeout`: the longest time in seconds from sending a
    command to its answer, None for commands that block. `is_spoiled`: an answer may still come that is not that of the
    next command."""

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
        """True if a command may be sent, and the next answer will be that of it."""
        return not (self.is_spoiled or self._transport.is_closing() or self.connection.should_reconnect())

    @property
    def is_fresh(self) -> bool:
        """True if a command was sent not long ago; else a `ping` shows that the server is still there."""
        return time.monotonic() - self._sent_at < self._pinged_after

    def send(self, packed: bytes) -> asyncio.Future[Any]:
        """Send a command; the future gets its answer, or an error of the library. It must be usable."""
        self._sent_at = time.monotonic()
        if self._timer is None and self._answer_timeout is not None:
            self._timer = self._loop.call_later(self._answer_timeout, self._look_at_time)
        answer = self._answer = self._loop.create_future()
        self._transport.write(packed)
        return answer

    def send_behind(self, packed: bytes) -> asyncio.Future[Any] | None:
        """Send another command behind the one that blocks; None if the answer of that has come. The future gets the
        second answer; it is cancelled where the first has none."""
        if self._answer is None or self._answer_behind is not None:
            return None
        answer = self._answer_behind = self._loop.create_future()
        self._transport.write(packed)
        return answer

    async def ping(self) -> None:
        if await self.send(PING) != PONG or not self.is_usable:
            raise ConnectionError("Bad response from PING health check")

    def leave(self) -> None:
        """Put the library's protocol in its place again; of an end of the transport that one was told."""
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
        """Hand the reply to the caller that waits for it."""
        answer, self._answer, self._answer_behind = self._answer, self._answer_behind, None
        if answer is None or answer.done():  # its caller was cancelled
            return
        if isinstance(reply, RedisError):
            answer.set_exception(reply)
        else:
            answer.set_result(reply)

    def _break(self, error: RedisError) -> None:
        """No answer comes any more."""
        behind, self._answer_behind = self._answer_behind, None
        if behind is not None:
            behind.cancel()
        self._end(error)

    def _look_at_time(self) -> None:
        """End a command that waits too long. One timer serves many commands: to set one for each takes time."""
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
