"""A non-blocking stream socket that carries lines, with limits in both directions: no peer can block the parent or fill
its memory."""

from __future__ import annotations

import contextlib
import socket

CHUNK = 1 << 16
READS = 16  # chunks in one go, so that a flood from one peer does not keep the others waiting


class LineSocket:
    """`ended`: the peer will send no more. `overrun`: the peer sent a line longer than `longest` bytes, which was
    dropped."""

    def __init__(self, stream: socket.socket, longest: int, most_unsent: int) -> None:
        stream.setblocking(False)
        self.stream = stream
        self.ended = False
        self.overrun = False
        self._longest = longest
        self._most_unsent = most_unsent
        self._partial = b""
        self._unsent = bytearray()

    @property
    def is_pending(self) -> bool:
        """True if sent lines wait for the peer to read."""
        return bool(self._unsent)

    def receive(self) -> list[bytes]:
        """The complete lines that have arrived, without their line ends; never waits."""
        lines: list[bytes] = []
        for _ in range(READS):
            chunk = self._chunk()
            if not chunk:
                break
            *whole, self._partial = (self._partial + chunk).split(b"\n")
            lines += whole
            self._bound()
        return lines

    def receive_one(self) -> bytes | None:
        """The first complete line, without its line end, or None; never waits. The rest stays in the socket, so that
        the loop finds the descriptor ready again."""
        text, end, _ = self._chunk(flags=socket.MSG_PEEK).partition(b"\n")
        if text or end:
            self._chunk(len(text + end))
        self._partial += text
        self._bound()
        if not end or self.overrun:
            return None
        line, self._partial = self._partial, b""
        return line

    def send(self, line: bytes) -> bool:
        """Send a line, or keep it until the peer reads; False, and nothing is kept, if too much waits already."""
        if len(self._unsent) + len(line) > self._most_unsent:
            return False
        self._unsent += line
        self.flush()
        return True

    def flush(self) -> None:
        """Send waiting lines, as far as the peer takes them now."""
        try:
            while self._unsent:
                del self._unsent[: self.stream.send(self._unsent)]
        except BlockingIOError:
            return
        except OSError:  # the peer is gone
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
        if len(self._partial) > self._longest:
            self._partial = b""
            self.overrun = True
