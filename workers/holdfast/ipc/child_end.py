"""A child's end of the channel to its parent, for an event loop.

Sending never waits. Bytes that the kernel does not take at once stay in a bounded buffer, and go with the next message;
a child sends one every second. If the buffer is full, the parent does not read at all, and a further message is dropped
whole. The parent sends a message again if it was not acknowledged.
"""

from __future__ import annotations

import socket
from collections import deque

import anyio

from holdfast.core.plain_json import UNREADABLE_JSON
from holdfast.ipc.channel import FromChild, FromParent, decode_from_parent, encode
from holdfast_config import library_log

CHUNK = 1 << 16  # bytes read at once
LONGEST_OUTBOX = 1 << 18  # bytes

_log = library_log.get_logger("holdfast.ipc.channel")


class ParentLink:
    """The child's end: receives messages of the parent and sends messages of this child. From now on it owns the
    socket."""

    def __init__(self, channel: socket.socket) -> None:
        channel.setblocking(False)
        self._channel = channel
        self._torn = b""  # the beginning of a line whose end has not come
        self._lines: deque[bytes] = deque()
        self._outbox = bytearray()

    async def receive(self) -> FromParent | None:
        """The next message. Once the parent is gone, each call returns None. Only one reader at a time may call
        this."""
        while True:
            while self._lines:
                message = _read(self._lines.popleft())
                if message is not None:
                    return message
            if not await self._fill():
                return None

    def send(self, message: FromChild) -> None:
        """Send a message. Never waits and never fails."""
        line = encode(message)
        if len(self._outbox) + len(line) <= LONGEST_OUTBOX:
            self._outbox += line
        self._push()

    async def flush(self, within: float) -> None:
        """Wait until all messages are handed over, at most `within` seconds. Call this before the process exits."""
        with anyio.move_on_after(within):
            while self._outbox:
                await anyio.wait_writable(self._channel)
                self._push()

    def close(self) -> None:
        self._channel.close()

    async def _fill(self) -> bool:
        await anyio.wait_readable(self._channel)
        try:
            chunk = self._channel.recv(CHUNK)
        except BlockingIOError:
            return True
        except ConnectionError:
            return False
        *lines, self._torn = (self._torn + chunk).split(b"\n")
        self._lines.extend(lines)
        return bool(chunk)

    def _push(self) -> None:
        try:
            while self._outbox:
                del self._outbox[: self._channel.send(self._outbox)]
        except BlockingIOError:
            pass
        except OSError:
            self._outbox.clear()  # nobody is left to read it; `receive` says so


def _read(line: bytes) -> FromParent | None:
    try:
        return decode_from_parent(line)
    except UNREADABLE_JSON:
        _log.warning("a message of the parent cannot be read", line=line[:200])
        return None
