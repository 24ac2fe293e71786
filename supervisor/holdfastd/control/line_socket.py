"""A non-blocking stream socket that carries lines, with bounds both ways: no peer can hold up or fill up the parent."""

from __future__ import annotations

import contextlib
import socket

CHUNK = 1 << 16
READS = 16  # chunks in one go, so that a flood from one peer does not keep the others waiting


class LineSocket:
    """`ended`: the peer will send no more. `overrun`: it sent a line longer than `longest` bytes, which was dropped."""

    def __init__(self, stream: socket.socket, longest: int, most_unsent: int) -> None:
        stream.setblocking(False)
        self.stream = stream
        self.ended = False
        self.overrun = False
        self._longest = longest
        self._most_unsent = most_unsent
        self._torn = b""
        self._unsent = bytearray()

    @property
    def is_pending(self) -> bool:
        """Whether something waits for the peer to read."""
        return bool(self._unsent)

    def receive(self) -> list[bytes]:
        """The lines that are there, without their ends; never waits."""
        lines: list[bytes] = []
        for _ in range(READS):
            chunk = self._chunk()
            if not chunk:
                break
            *whole, self._torn = (self._torn + chunk).split(b"\n")
            lines += whole
            self._bound()
        return lines

    def receive_one(self) -> bytes | None:
        """The first line that is there, without its end, or None; never waits. What follows it stays in the socket, so
        that the loop finds the descriptor ready again."""
        text, end, _ = self._chunk(flags=socket.MSG_PEEK).partition(b"\n")
        if text or end:
            self._chunk(len(text + end))
        self._torn += text
        self._bound()
        if not end or self.overrun:
            return None
        line, self._torn = self._torn, b""
        return line

    def send(self, line: bytes) -> bool:
        """Hand a line over or keep it until the peer reads; False, and nothing kept, if too much waits already."""
        if len(self._unsent) + len(line) > self._most_unsent:
            return False
        self._unsent += line
        self.flush()
        return True

    def flush(self) -> None:
        """Send what waits, as far as the peer takes it now."""
        try:
            while self._unsent:
                del self._unsent[: self.stream.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:  # nobody is left to read it
            self._unsent.clear()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.stream.close()

    def _chunk(self, size: int = CHUNK, flags: int = 0) -> bytes:
        try:
            chunk = self.stream.recv(size, flags)
        except BlockingIOError:
            return b""
        except OSError:
            chunk = b""
        self.ended = self.ended or not chunk
        return chunk

    def _bound(self) -> None:
        if len(self._torn) > self._longest:
            self._torn = b""
            self.overrun = True
